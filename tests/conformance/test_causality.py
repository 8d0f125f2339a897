"""No output depends on a later token or another sequence, and every output depends on the past."""

import pytest
import torch

from blockproof.tests.checks.causal import causal, causal_at_full_context, past_matters
from blockproof.tests.conformance.running import Judge, run
from blockproof.tests.seam.subject import Subject

pytestmark = pytest.mark.must


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("strong", [False, True], ids=["as built", "strong"])
def test_no_output_depends_on_the_future(
    judged: Subject, judge: Judge, dtype: torch.dtype, training: bool, strong: bool
) -> None:
    run(judge, causal, judged, dtype, training=training, strong=strong)


def test_every_output_depends_on_the_past(judged: Subject, judge: Judge) -> None:
    run(judge, past_matters, judged)


def test_no_output_depends_on_the_future_at_full_context(judged: Subject, judge: Judge) -> None:
    run(judge, causal_at_full_context, judged)
