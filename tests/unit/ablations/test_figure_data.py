"""Figures draw what the frames say: every mean, every seed, every reference."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D

from blockproof.ablations.cell import HEALTHY
from blockproof.ablations.frame import Frame
from blockproof.ablations.study import Results
from blockproof.ablations.views import gallery, norm_placement, position, residual, style, swap
from blockproof.tests.unit.ablations import fabricated
from blockproof.tests.unit.ablations.drawing import Drawn, curves, dashed, dots, draw, legend, references


def means(rows: Frame, column: str, variants: dict[str, str], x: str, y: str) -> list[tuple[Any, Any]]:
    """What the curves of all variants have to be."""
    found = [rows[rows[column] == variant].groupby(x)[y].mean() for variant in variants]
    return [(pytest.approx(each.index.tolist()), pytest.approx(each.tolist())) for each in found]


@pytest.fixture(scope="module")
def norms(theme: str) -> Iterator[Drawn]:
    with draw("norm_placement", theme) as figure:
        yield figure


def test_norm_placement_draws_means_over_rates_and_a_dot_a_seed(norms: Drawn) -> None:
    everything = norms.frames["runs"]
    settings = norm_placement.settings(everything)
    for axes, setting in zip(norms.panels, settings, strict=True):
        assert axes.get_title(loc="left") == norm_placement.title(*setting)
        runs = norm_placement.at_setting(everything, *setting)
        expected = means(runs, "norm_placement", norm_placement.NAMES, "lr", "score")
        assert list(curves(axes)) == expected
        for place, column in enumerate(("lr", "score")):
            assert sorted(dots(axes)[:, place]) == pytest.approx(sorted(runs[column]))
        assert references(axes) == [runs["blind_loss"].iloc[0]]
        assert axes.get_xscale() == "log"
        assert legend(axes) == list(norm_placement.NAMES.values())


def test_norm_placement_draws_the_whole_range_of_seeds(norms: Drawn) -> None:
    runs = norms.frames["runs"]
    first = norm_placement.at_setting(runs, *norm_placement.settings(runs)[0])
    shown = first[first["norm_placement"] == next(iter(norm_placement.NAMES))]
    ends = shown.groupby("lr")["score"].agg(["min", "max"]).to_numpy().ravel()
    bands = [each for each in norms.panels[0].collections if isinstance(each, PolyCollection)]
    drawn = np.asarray(bands[0].get_paths()[0].vertices)[:, 1]
    assert np.unique(drawn.round(9)).tolist() == np.unique(ends.round(9)).tolist()


@pytest.fixture(scope="module")
def residuals(theme: str) -> Iterator[Drawn]:
    with draw("residual", theme) as figure:
        yield figure


def test_residual_draws_learning_curves_by_depth(residuals: Drawn) -> None:
    depths = residuals.frames["curves"].groupby("n_layers")
    for axes, (depth, losses) in zip(residuals.panels[:2], depths, strict=True):
        expected = means(losses, "residual_kind", residual.NAMES, "step", "loss")
        assert list(curves(axes)) == expected
        assert f"{depth} layers" in axes.get_title(loc="left")
        assert references(axes) == [residuals.frames["runs"]["blind_loss"].iloc[0]]
        assert legend(axes) == list(residual.NAMES.values())


@pytest.mark.parametrize(("place", "column", "scale"), [(2, "grad_norm", "log"), (3, "likeness", "linear")])
def test_residual_draws_the_deeper_stack_at_init(
    residuals: Drawn, place: int, column: str, scale: str
) -> None:
    axes, layers = residuals.panels[place], residuals.frames["layers"]
    assert set(layers["step"]) == {0}
    deep = layers[layers["n_layers"] == layers["n_layers"].max()]
    expected = means(deep, "residual_kind", residual.NAMES, "place", column)
    assert list(curves(axes)) == expected
    named = [text.get_text() for text in axes.get_xticklabels()]
    assert named == ["emb.", *map(str, range(deep["n_layers"].iloc[0])), "norm"]
    assert axes.get_yscale() == scale
    low, high = axes.get_ylim()
    assert all(low < value < high for _, ys in curves(axes) for value in ys)


@pytest.fixture(scope="module")
def positions(theme: str) -> Iterator[Drawn]:
    with draw("position", theme) as figure:
        yield figure


def test_position_draws_a_dot_a_seed_on_each_task(positions: Drawn) -> None:
    order = positions.frames["order"]
    tasks = [positions.frames["text"], *(rows for _, rows in order.groupby("asked"))]
    for axes, runs in zip(positions.panels[:3], tasks, strict=True):
        assert sorted(dots(axes)[:, 1]) == pytest.approx(sorted(runs["score"]))
        assert legend(axes) == list(position.NAMES.values())
    for axes in positions.panels[1:3]:
        assert references(axes) == sorted([order["floor"].iloc[0], order["blind_loss"].iloc[0]])


def test_position_draws_permuted_tokens_on_a_scale_that_shows_rounding(positions: Drawn) -> None:
    axes, moved = positions.panels[3], positions.frames["permutation"]
    shown = moved[moved["position"] == "none"]
    assert sorted(dots(axes)[:, 1]) == pytest.approx(sorted(shown["moved"]), rel=1e-9)
    assert axes.get_yscale() == "log"
    assert axes.get_ylim()[0] < shown["moved"].min()


def test_an_exact_zero_is_drawn_at_the_lower_edge() -> None:
    with draw("position", "light") as drawn:
        nothing: pd.DataFrame = drawn.frames["permutation"].assign(moved=0.0)
        panel = position.figure({**drawn.frames, "permutation": nothing}).axes[3]
        assert set(dots(panel)[:, 1]) == {panel.get_ylim()[0]}


@pytest.mark.parametrize("theme", style.THEMES)
def test_swap_draws_a_dot_a_seed_and_an_interval_a_swap(theme: str) -> None:
    with draw("swap", theme) as figure:
        axes, gaps = figure.panels[0], figure.frames["gaps"]
        rows = swap.table(figure.frames).iloc[1:]
        names = [label.get_text() for label in axes.get_yticklabels()]
        assert names == [swap.name(*pair) for pair in zip(rows["part"], rows["choice"], strict=True)]
        assert sorted(dots(axes)[:, 0]) == pytest.approx(sorted(gaps["gap"]))
        bars = next(each for each in axes.collections if isinstance(each, LineCollection))
        ends = [np.asarray(segment)[:, 0].tolist() for segment in bars.get_segments()]
        assert np.array(ends) == pytest.approx(rows[["gap_low", "gap_high"]].to_numpy())
        assert [float(np.asarray(line.get_xdata())[0]) for line in axes.lines if dashed(line)] == [0.0]


def place(line: Line2D) -> list[float]:
    """Where a sign stands that is drawn as a line of one point, or of none for the legend."""
    return [float(each) for x in line.get_data() for each in np.asarray(x).ravel()]


@pytest.mark.parametrize("theme", style.THEMES)
def test_the_gallery_draws_both_reported_losses_and_the_honest_one_of_each_fault(theme: str) -> None:
    with draw("gallery", theme) as figure:
        runs, losses = figure.frames["runs"], figure.frames["curves"]
        faults = [fault for fault in runs["fault"].unique() if fault != HEALTHY]
        assert [axes.get_title(loc="left") for axes in figure.panels] == faults
        for axes, fault in zip(figure.panels, faults, strict=True):
            expected = means(losses, "fault", dict.fromkeys((HEALTHY, fault), ""), "step", "loss")
            assert list(curves(axes)) == expected
            assert references(axes) == [runs["blind_loss"].iloc[0]]
            honest = runs.loc[runs["fault"] == fault, "honest"].mean()
            (sign,) = (line for line in axes.lines if line.get_marker() in ("D", "^") and place(line))
            assert sign.get_marker() == ("D" if honest < axes.get_ylim()[1] else "^")
            assert place(sign) == [losses["step"].max(), pytest.approx(min(honest, gallery.HIGHEST))]
            assert [text.get_text() for text in axes.texts] == [f"{honest:.2f}"]


def test_a_gallery_of_one_fault_and_two_seeds_can_be_shown() -> None:
    """As at the smoke scale."""
    study = Results("gallery", fabricated.records("gallery", "smoke"))
    with style.themed("light"):
        assert len(study.view.figure(study.frames).axes) == len(study.table) - 1 == 1
