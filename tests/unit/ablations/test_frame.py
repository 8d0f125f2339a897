"""Frames are tidy: one row an observation, and every column what its name says."""

import itertools
from collections import Counter
from collections.abc import Callable

import pytest

from blockproof.ablations import frame
from blockproof.ablations.catalogue import ABLATIONS
from blockproof.ablations.record import Record
from blockproof.tests.unit.ablations import fabricated
from blockproof.tests.unit.ablations.fabricated import layer_names

Curve = Callable[[list[Record]], frame.Frame]

RECORDS = fabricated.records("norm_placement")
CURVES: tuple[Curve, ...] = (frame.training_curves, frame.validation_curves, frame.layer_curves)


def first(ended: str) -> Record:
    return next(record for record in RECORDS if record.result["ended"] == ended)


def test_one_row_a_run() -> None:
    runs = frame.runs(RECORDS)
    assert len(runs) == len(RECORDS)
    for row, record in zip(runs.itertuples(), RECORDS, strict=True):
        assert (row.lr, row.norm_placement, row.seed) == (
            record.cell.train["lr"], record.cell.model["norm"]["placement"], record.cell.seed,
        )  # fmt: skip


@pytest.mark.parametrize(("ended", "scored"), [("finished", "final_loss"), ("diverged", "loss_at_init")])
def test_the_score_is_the_final_loss_or_of_a_diverged_run_the_one_at_init(ended: str, scored: str) -> None:
    record = first(ended)
    assert frame.runs([record])["score"].tolist() == [record.result[scored]]


@pytest.mark.parametrize(("curve", "group"), list(zip(CURVES[:2], ("training", "validation"), strict=True)))
def test_one_row_a_point(curve: Curve, group: str) -> None:
    record = first("finished")
    points = record.result[group]
    rows = curve([record])
    assert rows["step"].tolist() == [point[0] for point in points]
    assert rows["loss"].tolist() == [point[1] for point in points]


def test_one_row_a_layer_in_the_order_of_the_data() -> None:
    record = first("finished")
    rows = frame.layer_curves([record])
    names = layer_names(record.cell.model["n_layers"])
    assert rows["layer"].tolist() == names * len(record.result["layers"])
    at_init = rows[rows["step"] == 0]
    assert at_init["place"].tolist() == list(range(len(names)))
    for measure in ("grad_norm", "activation_rms", "likeness"):
        assert at_init[measure].tolist() == list(record.result["layers"][0][measure].values())


@pytest.mark.parametrize("curve", CURVES)
def test_what_a_point_measures_hides_no_value_of_its_cell(curve: Curve) -> None:
    """A column ``lr`` that held the rate of the update would part a run with warm-up from itself."""
    record = first("finished")
    warm = Record(record.cell.replace({"train.lr": 0.5}), "", record.result, {})
    for name, value in frame.variables(warm).items():
        assert all(seen == value for seen in curve([warm])[name])


@pytest.mark.parametrize("name", ABLATIONS)
def test_no_two_parts_of_a_cell_share_a_name(name: str) -> None:
    for record in fabricated.records(name, "smoke"):
        cell = record.cell
        assert max(Counter([*cell.model, *cell.train, *cell.data, "seed", "run"]).values()) == 1


def test_one_row_a_pair_of_permuted_sequences() -> None:
    record = fabricated.records("position")[-1]
    rows = frame.permutations([record])
    assert dict(zip(rows["pair"], rows["moved"], strict=True)) == record.result["moved"]


def test_select_takes_the_records_with_all_wanted_values() -> None:
    chosen = frame.select(RECORDS, norm_placement="post", warmup=50)
    wanted = [r.cell.model["norm"]["placement"] == "post" and r.cell.train["warmup"] == 50 for r in RECORDS]
    assert 0 < len(chosen) < len(RECORDS)
    assert chosen == list(itertools.compress(RECORDS, wanted))
    assert frame.select(RECORDS, symbols=4) == []


def test_varying_drops_the_columns_that_say_nothing() -> None:
    rows = frame.Frame({"a": [1, 1], "b": [1, 2], "c": [None, 1.0], "d": [None, None]})
    assert list(frame.varying(rows)) == ["b", "c"]
