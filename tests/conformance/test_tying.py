"""A tied head stays tied through its life, an untied one apart."""

import pytest

from blockproof.tests.checks.tying import tying
from blockproof.tests.conformance.running import Judge, run
from blockproof.tests.seam.subject import Subject


@pytest.mark.must
def test_head_and_embedding_are_one_or_two(judged: Subject, judge: Judge) -> None:
    run(judge, tying, judged)
