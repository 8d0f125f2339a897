"""Specs become complete, valid, comparable cells."""

import itertools
import json
from collections import defaultdict
from math import prod
from typing import Any

import pytest

from blockproof.ablations.catalogue import ABLATIONS, ablation
from blockproof.ablations.cell import Cell
from blockproof.ablations.spec import SCALES, Grid, Scale, expand
from blockproof.model.config import ModelConfig
from blockproof.model.count import count
from blockproof.model.nested import leaves
from blockproof.model.schema import ConfigError
from blockproof.model.train_config import TrainConfig
from blockproof.tests.unit.ablations.samples import cells

NAMES_AND_SCALES = list(itertools.product(ABLATIONS, SCALES))


def size(grid: Grid, scale: Scale) -> int:
    """Variants of a grid, by the definition of its axes."""
    lengths = [2 if scale.thin and len(values) > 2 else len(values) for values in grid.axes.values()]
    return prod(lengths)


# Of swap, four grids hold the model as it is, once for each of two rates; thinned, that of heads does not.
SHARED = {("swap", "standard"): 3 * 2, ("swap", "smoke"): 2 * 2}


@pytest.mark.parametrize(("name", "scale"), NAMES_AND_SCALES)
def test_all_combinations_of_the_axes_with_all_seeds_once(name: str, scale: str) -> None:
    variants = sum(size(grid, SCALES[scale]) for grid in ABLATIONS[name].spec.grids.values())
    keys = {cell.key for cell in cells(name, scale)}
    distinct = variants - SHARED.get((name, scale), 0)
    assert len(keys) == len(cells(name, scale)) == distinct * SCALES[scale].seeds


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_axis_value_is_run(name: str) -> None:
    for grid in ABLATIONS[name].spec.grids.values():
        for path, values in grid.axes.items():
            assert set(values) <= {
                leaves(cell.to_dict() | {"fault": cell.fault}).get(path) for cell in cells(name)
            }


@pytest.mark.parametrize(("name", "scale"), NAMES_AND_SCALES)
def test_cells_are_complete_and_valid(name: str, scale: str) -> None:
    """No default is left open: a later change of one must not change what a stored cell means."""
    for cell in cells(name, scale):
        assert ModelConfig.from_dict(cell.model).to_dict() == cell.model
        if cell.train:
            assert TrainConfig.from_dict(cell.train).to_dict() == cell.train
        assert json.loads(json.dumps(cell.to_dict(), allow_nan=False)) == cell.to_dict()


@pytest.mark.parametrize(("name", "scale"), NAMES_AND_SCALES)
def test_variants_share_their_seeds(name: str, scale: str) -> None:
    """Else paired intervals would compare different draws."""
    seeds: dict[str, set[int]] = defaultdict(set)
    for cell in cells(name, scale):
        seeds[cell.replace({"seed": 0}).key].add(cell.seed)
    assert set(map(frozenset, seeds.values())) == {frozenset(range(SCALES[scale].seeds))}


def test_smoke_keeps_the_ends_of_long_axes_and_all_of_short_ones() -> None:
    smoke = [cell for cell in cells("norm_placement", "smoke") if cell.model["tied"]]
    assert {cell.train["lr"] for cell in smoke} == {1e-4, 3e-2}
    assert {cell.model["norm"]["placement"] for cell in smoke} == {"pre", "post"}


def test_smoke_shortens_the_run_and_the_warm_up_in_proportion() -> None:
    trained = [cell.train for cell in cells("norm_placement", "smoke")]
    assert {train["steps"] for train in trained} == {12}
    assert {train["warmup"] for train in trained} == {0, 50 * 12 // cells("norm_placement")[0].train["steps"]}
    assert {train["eval_every"] for train in trained} == {6}


@pytest.mark.parametrize("tied", [True, False])
def test_no_two_placements_differ_in_parameters(tied: bool) -> None:
    chosen = {str(c.model): c.model for c in cells("norm_placement") if c.model["tied"] is tied}
    assert {model["norm"]["placement"] for model in chosen.values()} == {"pre", "post"}
    assert len({count(ModelConfig.from_dict(model)).total for model in chosen.values()}) == 1


@pytest.mark.parametrize(("path", "value"), [("train.steps", 5), ("data.validation_windows", 9), ("seed", 3)])
def test_overrides_reach_every_cell_that_has_the_path(path: str, value: int) -> None:
    part, _, field = path.partition(".")
    for cell in expand(ABLATIONS["position"].spec, "smoke", {path: value}):
        holder: Any = getattr(cell, part)
        assert holder == value if not field else holder.get(field, value) == value


def test_an_override_is_checked() -> None:
    with pytest.raises(ConfigError, match="n_layers must be at least 1"):
        expand(ABLATIONS["residual"].spec, "smoke", {"model.n_layers": 0})


def test_overrides_that_make_cells_equal_leave_one() -> None:
    one_seed = expand(ABLATIONS["residual"].spec, "smoke", {"seed": 3})
    assert len(one_seed) == len(cells("residual", "smoke")) / SCALES["smoke"].seeds


@pytest.mark.parametrize(
    ("scale", "overrides", "nearest"),
    [("smok", {}, "smoke"), ("smoke", {"train.step": 1}, "train.steps"), ("smoke", {"train": 1}, "train.lr")],
)
def test_unknown_names_are_refused_with_the_nearest(
    scale: str, overrides: dict[str, int], nearest: str
) -> None:
    with pytest.raises(ConfigError, match=rf"(did you mean|Known).*{nearest}"):
        expand(ABLATIONS["residual"].spec, scale, overrides)


def test_an_unknown_ablation_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'residual'"):
        ablation("residuals")


def test_a_cell_with_no_data_reads_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blockproof.model.recipe.load_corpus", lambda: pytest.fail("the text was read"))
    grid = ABLATIONS["position"].spec.grids["permutation"]
    base = Cell(run=grid.run, model={**grid.model, "n_layers": 1}, seed=0)
    assert base.data == {}
