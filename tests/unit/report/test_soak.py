"""What the report tells of planted bugs and of other people's models, from small results made by hand."""

from typing import Any

from blockproof.ablations.views.style import themed
from blockproof.report import soak
from blockproof.report.numbers import unmark

LEAK, LABELS = (f"conformance/test_{name}.py::test_{name}" for name in ("leak", "labels"))
MASK = "unit/test_mask.py::test_it"


def bug(rows: list[str], check: str, *killed_by: str, equivalent: str = "") -> dict[str, Any]:
    return {"rows": rows, "check": check, "killed_by": list(killed_by), "equivalent": equivalent}


FOUND: dict[str, Any] = {
    "classes": {"A": "masks: of all kinds", "D": "labels"},
    "naive": ["loss_falls"],
    "mutants": {
        "no mask": bug(["A01", "D02"], LEAK, LEAK, MASK),
        "late mask": bug(["A02"], MASK, MASK),
        "unshifted": bug(["D01"], LABELS, LABELS, LEAK),
        "by nobody": bug([], MASK, MASK),
        "harmless": bug(["A03"], "conformance", LEAK, equivalent="another convention"),
    },
    "summary": {
        "bugs": 4,
        "killed_by_naive": {},
        "killed_by_nothing_else": {MASK: ["late mask", "by nobody"]},
    },
    "syntax": {"drawn": 9, "survivors": ["a", "b"]},
}
MODELS: dict[str, Any] = {
    "versions": {"torch": "2.0"},
    "architectures": {
        "one": {"built": True, "ran": 20, "red": {}},
        "two": {
            "built": True,
            "ran": 22,
            "red": {f"{soak.LEAK}[strong]": {"problem": "it leaks by 0.3", "cause": "no mask"}},
        },
        "huge": {"built": False, "reason": "too large"},
    },
}


def test_every_red_test_of_a_bug_has_a_row() -> None:
    rows = soak.matrix(FOUND)
    assert rows["bug"].tolist() == ["no mask", "no mask", "late mask", "unshifted", "unshifted", "by nobody"]
    assert rows["class"].tolist() == ["A", "A", "A", "D", "D", soak.UNREPORTED]
    assert rows["intended"].tolist() == [True, False, True, True, False, True]


def test_the_black_box_is_told_test_by_test_the_others_file_by_file() -> None:
    assert soak.column(LEAK) == "leak"
    assert soak.column("conformance/test_x.py::test_past_is_read") == "past is read"
    assert soak.column("unit/ablations/test_notebook_call.py::test_y") == "notebook call"


def test_the_figure_has_a_column_for_each_and_a_tick_for_each_class() -> None:
    with themed("light"):
        (axes,) = soak.figure(FOUND).axes
        assert [label.get_text() for label in axes.get_xticklabels()] == ["leak", "labels", "mask"]
        assert [label.get_text() for label in axes.get_yticklabels()] == [
            "masks  A",
            "labels  D",
            "in no report",
        ]


def test_tables() -> None:
    naive, alone = soak.naive(FOUND), soak.alone(FOUND)
    assert [[*map(unmark, row)] for row in naive.rows] == [["loss falls", "0 of 4"]]
    assert [[*map(unmark, row)] for row in alone.rows] == [[f"`{MASK}`", "late mask; by nobody"]]
    assert soak.syntax(FOUND) == {"drawn": 9, "survivors": 2}


def test_models_are_counted_and_what_is_red_is_told_in_its_words() -> None:
    told = soak.zoo(MODELS)
    assert [told[name] for name in ("all", "built", "checks", "red")] == [3, 2, 42, 1]
    assert unmark(told["leaking"]) == "`two`"
    (row,) = told["table"].rows
    assert [*map(unmark, row)] == ["`two`", "no output depends on the future", "it leaks by 0.3", "no mask"]


def test_data_files_hold_the_same() -> None:
    files = soak.data_files(FOUND, MODELS)
    assert len(files["mutants.csv"].splitlines()) == 1 + 6
    assert files["zoo.csv"].splitlines()[1:] == [
        "one,True,20,",
        f"two,True,22,{soak.LEAK}[strong]",
        "huge,False,0,",
    ]
