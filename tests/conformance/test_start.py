"""The model as built starts where it should, with every parameter registered and learning."""

import pytest

from blockproof.tests.checks.registered import everything_is_registered
from blockproof.tests.checks.start import every_parameter_learns, finite_in_bfloat16, initial_loss
from blockproof.tests.conformance.running import Judge, run
from blockproof.tests.seam.subject import Subject


@pytest.mark.must
def test_loss_starts_near_that_of_a_guess(judged: Subject, judge: Judge) -> None:
    run(judge, initial_loss, judged)


@pytest.mark.must
def test_every_parameter_learns(judged: Subject, judge: Judge) -> None:
    run(judge, every_parameter_learns, judged)


@pytest.mark.must
def test_everything_is_registered(judged: Subject, judge: Judge) -> None:
    run(judge, everything_is_registered, judged)


@pytest.mark.must
def test_logits_are_finite_in_bfloat16(judged: Subject, judge: Judge) -> None:
    run(judge, finite_in_bfloat16, judged)
