"""Ids that the model cannot take are refused, with the number that is wrong."""

import pytest

from blockproof.tests.checks.bounds import bounds
from blockproof.tests.conformance.running import Judge, run
from blockproof.tests.seam.subject import Subject


@pytest.mark.ours
def test_wrong_ids_are_refused_by_name(judged: Subject, judge: Judge) -> None:
    run(judge, bounds, judged)
