"""Decoding with a cache gives what the whole forward gives."""

import pytest

from blockproof.tests.checks.cache import cache
from blockproof.tests.conformance.running import Judge, run
from blockproof.tests.seam.subject import Subject


@pytest.mark.must
def test_decoding_with_a_cache_equals_the_whole_forward(judged: Subject, judge: Judge) -> None:
    run(judge, cache, judged)
