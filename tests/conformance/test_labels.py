"""The loss that the model reports asks each place for the next token, once, and for nothing else."""

import pytest

from blockproof.tests.checks import reported
from blockproof.tests.conformance.running import Judge, run
from blockproof.tests.seam.subject import Subject


@pytest.mark.must
def test_loss_asks_for_the_next_token(judged: Subject, judge: Judge) -> None:
    run(judge, reported.asks_for_the_next_token, judged)


@pytest.mark.must
def test_ignored_labels_give_neither_loss_nor_gradient(judged: Subject, judge: Judge) -> None:
    run(judge, reported.ignores_what_is_to_be_ignored, judged)


@pytest.mark.ours
def test_a_loss_of_no_labels_is_defined(judged: Subject, judge: Judge) -> None:
    run(judge, reported.all_ignored_is_defined, judged)
