"""Dropout acts in train mode alone, and generation leaves no trace."""

import pytest

from blockproof.tests.checks.modes import eval_is_deterministic, generation_leaves_no_trace, training_drops
from blockproof.tests.conformance.running import Judge, run
from blockproof.tests.seam.subject import Subject


@pytest.mark.must
def test_eval_mode_is_deterministic(judged: Subject, judge: Judge) -> None:
    run(judge, eval_is_deterministic, judged)


@pytest.mark.must
def test_train_mode_drops(judged: Subject, judge: Judge) -> None:
    run(judge, training_drops, judged)


@pytest.mark.ours
def test_generation_leaves_no_trace(judged: Subject, judge: Judge) -> None:
    run(judge, generation_leaves_no_trace, judged)
