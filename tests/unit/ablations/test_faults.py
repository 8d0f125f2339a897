"""A fault is planted for one run: each of them acts, none outlives it, and sound cells know nothing of faults."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from blockproof.ablations import runs
from blockproof.ablations.cell import HEALTHY, Cell
from blockproof.ablations.faults import FAULTS, planted_fault
from blockproof.ablations.record import Record
from blockproof.ablations.runs import run
from blockproof.ablations.spec import complete
from blockproof.model import labels
from blockproof.model.schema import ConfigError
from blockproof.tests.unit.ablations.samples import TINY, tiny_record

CHAIN = {"source": "markov", "symbols": 4, "order": 1, "validation_windows": 8}  # every token is asked for
SCORED = complete(replace(TINY, run="honest", data=CHAIN))
FAULTY = [name for name in FAULTS if name != HEALTHY]


@pytest.fixture(scope="module")
def sound() -> dict[str, Any]:
    """What sound code gives."""
    return run(SCORED)


@pytest.mark.parametrize("name", FAULTY)
def test_each_fault_acts_and_leaves_no_trace(name: str, sound: dict[str, Any]) -> None:
    assert run(SCORED.replace({"fault": name}))["validation"] != sound["validation"]
    assert run(SCORED) == sound


@pytest.mark.parametrize("name", FAULTY)
def test_each_fault_says_what_is_wrong_and_names_a_test(name: str) -> None:
    fault = FAULTS[name]
    assert fault.says
    assert fault.check.count("::") == 1


def test_sound_code_reports_the_honest_loss(sound: dict[str, Any]) -> None:
    assert sound["honest_loss"] == pytest.approx(sound["final_loss"], rel=1e-5)


@pytest.mark.parametrize("name", ["no shift", "double shift", "softmax twice"])
def test_a_fault_of_the_score_does_not_reach_the_honest_one(name: str) -> None:
    """Before any update the weights are those of sound code, and so is their honest loss."""
    still = {"train.steps": 1, "train.lr": 0.0, "train.log_every": 1}
    told, expected = (run(SCORED.replace({**still, "fault": each})) for each in (name, HEALTHY))
    assert told["final_loss"] != expected["final_loss"]
    assert told["honest_loss"] == expected["honest_loss"]


def test_a_run_that_diverged_has_no_honest_loss() -> None:
    assert run(SCORED.replace({"train.lr": 1e30}))["honest_loss"] is None


@pytest.mark.parametrize("do", [run, complete])
def test_an_unknown_fault_is_refused_with_the_nearest(do: Any) -> None:
    with pytest.raises(ConfigError, match="no fault 'no msk'; did you mean 'no mask'"):
        do(TINY.replace({"fault": "no msk"}))


def test_a_sound_cell_does_not_mention_faults() -> None:
    assert "fault" not in TINY.to_dict()
    assert TINY.replace({"fault": HEALTHY}).key == TINY.key
    assert Cell(**TINY.to_dict()).fault == HEALTHY


def test_a_record_keeps_its_fault() -> None:
    record = tiny_record(TINY.replace({"fault": "no mask"}))
    assert Record.from_dict(record.to_dict()) == record
    assert record.cell.key != TINY.key


def test_no_two_cells_run_at_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler's workers may have many threads, and all of them see a fault that is planted."""
    seen: list[bool] = []

    def slow(cell: Cell) -> dict[str, Any]:
        with planted_fault("no shift"):
            seen.append(labels.shift.__code__ is not code)
        seen.append(labels.shift.__code__ is code)
        return {}

    code = labels.shift.__code__
    monkeypatch.setitem(runs.RUNS, "train", slow)
    threads = [threading.Thread(target=run, args=(TINY,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 16
