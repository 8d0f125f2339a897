"""The zoo's own alarms: a leak is red, so is a check that breaks, and too little to be asked gives no verdict."""

from collections.abc import Callable

import pytest
from torch import nn

from blockproof.tests.conformance.running import Judge
from blockproof.tests.plugin import MINIMUM
from blockproof.tests.seam.subject import Subject, subject
from blockproof.tests.zoo.decoder import LAYERS, D, Decoder, H, T, V
from blockproof.tests.zoo.judging import Check, checks, verdict

LEAK = "no_output_depends_on_the_future[strong-eval-"


def hub(causal: bool) -> Callable[[], nn.Module]:
    """Hugging Face's GPT-2, tiny, with its causal mask or, by a word in its config, without."""
    transformers = pytest.importorskip("transformers", reason="this is Hugging Face's model")
    config = transformers.GPT2Config(
        vocab_size=V, n_positions=T, n_embd=D, n_layer=LAYERS, n_head=H, bos_token_id=0, eos_token_id=0
    )
    config.is_causal = causal
    return lambda: transformers.GPT2LMHeadModel(config)


def asked(*names: str) -> tuple[Check, ...]:
    """The checks whose names begin so."""
    return tuple(check for check in checks() if check.name.startswith(names))


def test_a_leaking_model_is_red_and_the_same_without_its_leak_is_not() -> None:
    names = asked(LEAK, "a_longer_sequence")
    leaking, sound = (verdict(subject("gpt2", hub(causal)), names) for causal in (False, True))
    assert set(leaking.red) == set(leaking.ran) == set(sound.ran)
    assert "depend on the token at place" in leaking.told
    assert not sound.red


def test_where_no_check_runs_there_is_no_verdict() -> None:
    found = verdict(
        subject("bare", Decoder), asked("masked_padding", "decoding_with_a_cache", "train_mode_drops")
    )
    assert (found.ran, len(found.skipped), found.red) == ((), 3, {})
    assert not found.judged


def test_a_model_of_one_token_and_one_id_is_not_judged() -> None:
    found = verdict(subject("one", Decoder, vocab_size=1, context=1))
    assert not found.red, found.told
    assert len(found.ran) < MINIMUM
    assert not found.judged


def test_a_check_that_breaks_is_red() -> None:
    def broken(judged: Subject, judge: Judge) -> None:
        raise IndexError("out of range")

    found = verdict(subject("bare", Decoder), (Check("broken", "must", broken),))
    assert found.red["broken"].problem == "IndexError: out of range"


def test_a_broken_promise_of_ours_is_a_remark_on_models_of_others() -> None:
    found = verdict(subject("bare", Decoder), asked("wrong_ids"))
    assert (found.ran, list(found.remarks), found.red) == ((), ["wrong_ids_are_refused_by_name"], {})
    ours = verdict(subject("bare", Decoder, ours=True), asked("wrong_ids"))
    assert list(ours.red) == ["wrong_ids_are_refused_by_name"]


def test_every_check_of_the_conformance_tests_is_listed_once() -> None:
    names = [check.name for check in checks()]
    assert len(names) == len(set(names)) == 28
    assert sum(check.kind == "must" for check in checks()) == 25
