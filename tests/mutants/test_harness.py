"""The harness itself: what it tells of a mutant, and of one that cannot be judged."""

import pytest
import torch

from blockproof.ablations.patch import Patch, planted
from blockproof.model.attention import merge_heads
from blockproof.tests.mutants.harness import HarnessError, Job, run

HAND = "unit/test_labels.py::test_shift_by_hand"
EARLY = "unit/test_labels.py::test_early_targets_are_ignored"
UNSHIFTED = Patch("model.labels", "targets = tokens[:, 1:].clone()", "targets = tokens[:, :-1].clone()")
SHAPE = "output_shape"


def test_tells_what_fails_first_what_passes_and_what_is_missed() -> None:
    endless = Patch("model.labels", "targets = tokens[:, 1:].clone()", "while True: pass")
    ends = Patch("model.labels", "targets = tokens[:, 1:].clone()", "__import__('os')._exit(3)")
    unfit = Patch("model.labels", "no such text", "")
    found = run(
        [
            Job("healthy", (HAND, EARLY), (SHAPE,)),
            Job("unshifted", ("unit/test_labels.py",), (SHAPE,), (UNSHIFTED,)),
            Job("up to the first", (HAND, EARLY), (), (UNSHIFTED,), first=True),
            Job("endless", (HAND,), (), (endless,)),
            Job("ends the process", (HAND,), (), (ends,)),
            Job("unfit", (HAND,), (), (unfit,)),
        ],
        limit=5,
    )
    assert found["healthy"].failed == {}
    assert found["healthy"].passed == (HAND, EARLY)
    assert found["healthy"].missed == (SHAPE,)
    assert found["unshifted"].red == [HAND, EARLY]
    assert found["unshifted"].failed[HAND].startswith("assert [[1, 2, 3], [5, 6, 7]] == [[2, 3, 4]")
    assert "unit/test_labels.py::test_cross_entropy_by_hand" in found["unshifted"].passed
    assert found["up to the first"].red == [HAND]
    assert found["endless"].error == "time-out after 5 s"
    assert found["ends the process"].error == "the process ended with 3"
    assert found["unfit"].error.startswith("PatchError: blockproof.model.labels holds 'no such text' 0 times")


def test_a_test_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(HarnessError, match="test_of_nothing"):
        run([Job("any", ("unit/test_labels.py::test_of_nothing",))])


def test_two_changes_of_one_function_are_both_in_force() -> None:
    patches = (
        Patch("model.attention", "x.transpose(1, 2).flatten(start_dim=2)", "x.transpose(1, 2)"),
        Patch("model.attention", "return x.transpose(1, 2)\n", "return x.transpose(1, 2) + 1\n"),
    )
    with planted(*patches):
        assert merge_heads(torch.zeros(1, 2, 3, 4)).tolist() == torch.ones(1, 3, 2, 4).tolist()
    assert merge_heads(torch.zeros(1, 2, 3, 4)).shape == (1, 3, 8)
