"""The sizes of published models: frames, verdicts on every side, and what the figure draws."""

from collections.abc import Callable

import pandas as pd
import pytest

from blockproof.ablations.frame import Frame
from blockproof.ablations.views import style
from blockproof.model.config import preset, presets
from blockproof.model.count import PARTS, count
from blockproof.report import own_tables, sizes
from blockproof.report.numbers import unmark
from blockproof.report.verdict import FAILS, HOLDS, Verdict
from blockproof.report.verdicts.sizes import UNGROUPED, verdicts

MODELS, CHANGES = sizes.models(), sizes.changes()


def found(claim: str, models: Frame = MODELS, changes: Frame = CHANGES) -> Verdict:
    return next(verdict for verdict in verdicts(models, changes) if verdict.claim == claim)


def test_every_published_preset_is_shown() -> None:
    assert set(MODELS["preset"]) == set(presets()) - {"tiny"}
    for row in MODELS.to_dict("records"):
        counted = count(preset(row["preset"]))
        assert {part: row[part] for part in PARTS} == counted.parts
        assert (row["total"], row["blocks"]) == (counted.total, counted.blocks)
        near = 0.005 * row["parameters"] if row["rounded"] else 0
        assert abs(row["total"] - row["parameters"]) <= near


def test_a_change_is_told_beside_the_model_as_it_is() -> None:
    by_change = CHANGES.set_index("change")["more"]
    assert by_change["as it is"] == 0
    assert by_change["RMSNorm"] == -25 * 768
    assert by_change["a head of its own"] == 50257 * 768
    assert by_change["no norm in the blocks"] == -24 * 2 * 768
    assert by_change["keys and values in groups of four heads"] == -12 * 2 * (768 - 192) * 769


def at(frame: Frame, row: int, column: str, value: float) -> Frame:
    changed = frame.copy()
    changed[column] = changed[column].astype(float)
    changed.loc[row, column] = value
    return changed


def change(words: str, column: str, value: float) -> Frame:
    return at(CHANGES, int(CHANGES.index[CHANGES["change"] == words][0]), column, value)


UNGROUPED_MODELS = MODELS[~MODELS["grouped"]]
SMALL, LARGE = MODELS.iloc[[0]], MODELS.iloc[3:5]
ESTIMATED = MODELS.assign(total_error=0.009)
SIDES: list[tuple[str, Callable[[], Verdict], str]] = [
    ("A11", lambda: found("A11"), HOLDS),
    ("A11 off", lambda: found("A11", at(MODELS, 3, "total", 1)), FAILS),
    ("A12", lambda: found("A12"), HOLDS),
    ("A12 off", lambda: found("A12", MODELS, change("no bias in linear layers", "more", -82_943)), FAILS),
    ("A9, size", lambda: found("A9, size"), HOLDS),
    ("A9, size off", lambda: found("A9, size", MODELS, change("RMSNorm", "more", -19_225)), FAILS),
    ("C4, size", lambda: found("C4, size"), HOLDS),
    ("C4, size off", lambda: found("C4, size", MODELS, change("a head of its own", "more", 5)), FAILS),
    ("C11, width", lambda: found("C11, width"), HOLDS),
    ("C11 off", lambda: found("C11, width", MODELS, change("SwiGLU, its width matched", "more", 1e6)), FAILS),
    ("D3, size", lambda: found("D3, size"), FAILS),
    (
        "D3 off",
        lambda: found("D3, size", MODELS, change("half of the heads, twice as wide", "more", 7)),
        HOLDS,
    ),
    ("D1", lambda: found("D1"), UNGROUPED),
    ("D1 all", lambda: found("D1", UNGROUPED_MODELS), HOLDS),
    ("D1 off", lambda: found("D1", at(MODELS, 0, "attention", 1)), FAILS),
    (
        "D1, model",
        lambda: found("D1, model"),
        "holds when the model is large: from 774,030,080 parameters on",
    ),
    ("D1, model small", lambda: found("D1, model", SMALL), FAILS),
    ("D1, model large", lambda: found("D1, model", LARGE), HOLDS),
    ("D1, model mixed", lambda: found("D1, model", at(MODELS, 8, "feed-forward", 1)), FAILS),
    ("D2, blocks", lambda: found("D2, blocks"), UNGROUPED),
    ("D2", lambda: found("D2"), FAILS),
    ("D2 near", lambda: found("D2", ESTIMATED), HOLDS),
]


@pytest.mark.parametrize(
    ("verdict", "expected"), [side[1:] for side in SIDES], ids=[side[0] for side in SIDES]
)
def test_every_side(verdict: Callable[[], Verdict], expected: str) -> None:
    assert unmark(verdict().verdict) == expected


def test_evidence_holds_the_right_numbers() -> None:
    said = {verdict.claim: unmark(verdict.evidence) for verdict in verdicts(MODELS, CHANGES)}
    assert "GPT-2 small has 124,439,808 parameters. Of the models" in said["A11"]
    assert "8 come out equal and 0 do not" in said["A11"]
    assert "GPT-3 −0.23 %" in said["A11"]
    assert "has 82,944 parameters fewer" in said["A12"]
    assert "101,376; without the final norm's 102,144" in said["A12"]
    assert "768 for each of its 25 norms" in said["A9, size"]
    assert "width is 2,048; the feed-forwards then have 12,288 parameters more, 0.022 %" in said["C11, width"]
    assert "GPT-2 small 45.5," in said["D1, model"]
    assert "GPT-2 XL 63.1," in said["D1, model"]
    assert "LLaMA-2-70B 17.6 %" in said["D1"]
    assert "GPT-2 small −31.7," in said["D2"]
    assert "LLaMA-65B −1.3, LLaMA-2-70B −6.6 %" in said["D2"]


def test_tables_hold_a_row_each() -> None:
    shown, changed = own_tables.models(MODELS), own_tables.changes(CHANGES)
    assert len(shown.rows) == len(MODELS)
    assert {len(row) for row in shown.rows} == {len(shown.heads)}
    small = [unmark(cell) for cell in shown.rows[0]]
    assert small[:6] == ["GPT-2 small", "12", "768", "124,439,808", "124,439,808", "85,054,464"]
    assert small[6:] == ["84,934,656", "−0.141", "−31.75"]
    assert [unmark(cell) for cell in changed.rows[1]][1:] == ["124,356,864", "−82,944"]


@pytest.mark.parametrize("theme", style.THEMES)
def test_bars_are_the_shares(theme: str) -> None:
    with style.themed(theme):
        axes = sizes.figure().axes[0]
        drawn = {bars.get_label(): [bar.get_width() for bar in bars] for bars in axes.containers}
        ends = [bar.get_x() + bar.get_width() for bar in axes.containers[-1]]
        names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == MODELS["name"].iloc[::-1].tolist()
    assert ends == pytest.approx([100] * len(MODELS))
    assert set(drawn) == {part for part in PARTS if MODELS[part].any()}
    for part, widths in drawn.items():
        expected = 100 * MODELS[part] / MODELS["total"]
        assert widths == pytest.approx(expected.iloc[::-1].tolist())


def test_data_files_hold_the_frames() -> None:
    files = sizes.data_files()
    assert list(files) == ["sizes.csv", "sizes-changes.csv"]
    assert files["sizes.csv"].splitlines()[1].startswith("gpt2-124m,GPT-2 small,124439808,False,12,768,")
    assert len(files["sizes-changes.csv"].splitlines()) == len(CHANGES) + 1
    assert isinstance(MODELS, pd.DataFrame)
