"""The model learns a tiny batch to its exact floor, not above it and not below."""

import pytest

from blockproof.tests.checks.learning import learns_to_the_floor
from blockproof.tests.conformance.running import Judge, run
from blockproof.tests.seam.subject import Subject


@pytest.mark.must
def test_learns_a_tiny_batch_to_its_floor(judged: Subject, judge: Judge) -> None:
    run(judge, learns_to_the_floor, judged)
