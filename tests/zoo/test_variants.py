"""Our own variants, in a sample that holds every two choices together: all checks, and what is red by design."""

import pytest

from blockproof.model.config import ModelConfig
from blockproof.model.nested import with_values
from blockproof.tests.contract.configs import CONFIGS
from blockproof.tests.seam.subject import Subject, subject
from blockproof.tests.subjects import WithLoss
from blockproof.tests.zoo.judging import checks, verdict

FLOOR = "learns_a_tiny_batch_to_its_floor"
SIZES = {"context": 10, "vocab_size": 12}  # the least that the tiny batch needs, and one more of each
PAIRS = [name for name in CONFIGS if name.startswith("pairs")]
SAMPLE = PAIRS[
    1::9
]  # the second has no residual, and a softmax that drops the small scores of strong weights


def variant(name: str) -> Subject:
    """The model of that name, with room for the tiny batch."""
    config = ModelConfig.from_dict(with_values(CONFIGS[name].to_dict(), SIZES))
    return subject(name, lambda: WithLoss(config), ours=True)


@pytest.mark.parametrize("name", SAMPLE)
def test_no_check_but_learning_is_red(name: str) -> None:
    _judge(name)


@pytest.mark.soak
@pytest.mark.parametrize("name", [name for name in CONFIGS if name not in SAMPLE])
def test_no_check_but_learning_is_red_of_any(name: str) -> None:
    _judge(name)


@pytest.mark.soak
@pytest.mark.parametrize("name", [name for name in CONFIGS if name not in PAIRS])
def test_those_in_use_learn_if_they_can_tell_order(name: str) -> None:
    """One layer without positions is a bag of tokens; choices that only the pairs combine may learn slowly."""
    config = CONFIGS[name]
    found = verdict(variant(name), tuple(check for check in checks() if check.name == FLOOR))
    assert bool(found.red) == (config.position == "none" and config.n_layers == 1), found.told


def _judge(name: str) -> None:
    """All is green, but that without attention no token knows of another."""
    found = verdict(variant(name), tuple(check for check in checks() if check.name != FLOOR))
    alone = CONFIGS[name].attention.kind == "none"
    assert set(found.red) == ({"every_output_depends_on_the_past"} if alone else set()), found.told
    assert found.judged
