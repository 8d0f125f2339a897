"""The order of earlier tokens matters, where positions are told."""

import pytest

from blockproof.tests.checks.order import order
from blockproof.tests.conformance.running import Judge, run
from blockproof.tests.seam.subject import Subject


@pytest.mark.must
def test_order_of_earlier_tokens_matters(judged: Subject, judge: Judge) -> None:
    run(judge, order, judged)
