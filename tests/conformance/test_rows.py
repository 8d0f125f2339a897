"""Neither other sequences of the batch nor padding nor the length matter to a logit."""

import pytest

from blockproof.tests.checks.padding import masked_padding
from blockproof.tests.checks.rows import prefix, rows
from blockproof.tests.conformance.running import Judge, run
from blockproof.tests.seam.subject import Subject


@pytest.mark.must
def test_rows_do_not_depend_on_each_other(judged: Subject, judge: Judge) -> None:
    run(judge, rows, judged)


@pytest.mark.must
def test_a_longer_sequence_changes_nothing_at_its_beginning(judged: Subject, judge: Judge) -> None:
    run(judge, prefix, judged)


@pytest.mark.must
def test_masked_padding_changes_nothing(judged: Subject, judge: Judge) -> None:
    run(judge, masked_padding, judged)
