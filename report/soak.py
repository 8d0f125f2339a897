"""What the soak test found: who catches which planted bug, and what the checks say of other people's models."""

from collections.abc import Mapping
from textwrap import shorten
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from blockproof.ablations.frame import Frame
from blockproof.ablations.views import style
from blockproof.report.numbers import quote, whole
from blockproof.report.tables import Table

NAME = "mutants"
BLACK_BOX = "conformance/"
LEAK = "no_output_depends_on_the_future"
LONGEST = 150  # characters of a check's words in the table; the whole of them is in zoo.json
UNREPORTED = "–"  # the class of bugs that stand in no public report; sorts behind the letters
Found = Mapping[str, Any]


def matrix(found: Found) -> Frame:
    """One row a planted bug and test that turned red."""
    rows = [
        {"class": class_of(each), "bug": name, "test": test, "intended": test == each["check"]}
        for name, each in found["mutants"].items()
        if not each["equivalent"]
        for test in each["killed_by"]
    ]
    return pd.DataFrame(rows, columns=["class", "bug", "test", "intended"])


def class_of(bug: Found) -> str:
    """The letter of its first report's class."""
    return bug["rows"][0][0] if bug["rows"] else UNREPORTED


def column(test: str) -> str:
    """A test of the black box by its name, the others of a file together by the file's."""
    file, _, name = test.partition("::")
    if test.startswith(BLACK_BOX):
        return name.removeprefix("test_").replace("_", " ")
    return file.rpartition("/test_")[2].removesuffix(".py").replace("_", " ")


def figure(found: Found) -> Figure:
    """Bugs by class, tests by what they ask; light if a test turned red, full if it is the one that must."""
    rows = matrix(found)
    rows["ours"] = ~rows["test"].str.startswith(BLACK_BOX)
    rows["column"] = rows["test"].map(column)
    best = rows.groupby(["class", "bug", "ours", "column"])["intended"].max().astype(int) + 1
    wide = best.unstack(["ours", "column"], fill_value=0).sort_index()
    reds = wide.ne(0).sum().reset_index(name="reds").sort_values(["ours", "reds"], ascending=[True, False])
    wide = wide[[*reds[["ours", "column"]].itertuples(index=False, name=None)]]
    drawn, axes = plt.subplots(figsize=(11, 13.5), layout="constrained")
    theme = style.current()
    sns.heatmap(
        wide, cmap=[theme.ground, theme.reference, theme.without_part], vmin=0, vmax=2, cbar=False, ax=axes,
        yticklabels=False, xticklabels=wide.columns.get_level_values("column").tolist(),
    )  # fmt: skip
    axes.tick_params(axis="x", labelsize=6.5, labelrotation=90)
    for place in range(wide.shape[1]):
        axes.axvline(place, color=theme.faint, linewidth=0.5)
    axes.axvline(int((~reds["ours"]).sum()), color=theme.ink, linewidth=0.8)
    _name_classes(axes, wide, found["classes"])
    axes.set(xlabel="left: tests of the black box; right: files of other tests", ylabel="")
    axes.set_title("Which test turns red for which planted bug", loc="left")
    return drawn


def _name_classes(axes: Axes, wide: Frame, titles: Mapping[str, str]) -> None:
    """A line between the classes of bugs, and the title of each beside its rows."""
    letters = wide.index.get_level_values("class").to_series().reset_index(drop=True)
    groups = letters.groupby(letters)
    middles = groups.apply(lambda group: group.index.to_series().mean() + 0.5)
    names = [
        f"{titles[letter].partition(':')[0]}  {letter}" if letter in titles else "in no report"
        for letter in middles.index
    ]
    axes.set_yticks(middles.to_list(), names, rotation=0, fontsize=6.5)
    for end in groups.apply(lambda group: group.index.max() + 1):
        axes.axhline(end, color=style.current().ink, linewidth=0.5)


def naive(found: Found) -> Table:
    """What the usual tests catch of the same bugs."""
    summary = found["summary"]
    caught = summary["killed_by_naive"]
    rows = [
        [name.replace("_", " "), f"{whole(caught.get(name, 0))} of {whole(summary['bugs'])}"]
        for name in found["naive"]
    ]
    return Table(["a usual test", "bugs that it catches"], rows)


def alone(found: Found) -> Table:
    """Tests that catch a bug which no other does, and which."""
    rows = [
        [f"`{quote(test)}`", "; ".join(quote(bug) for bug in bugs)]
        for test, bugs in found["summary"]["killed_by_nothing_else"].items()
    ]
    return Table(["test", "caught by it alone"], rows)


def syntax(found: Found) -> dict[str, int]:
    """The sample of changed syntax: how many were drawn, and survive with a reason."""
    told = found["syntax"]
    return {"drawn": told["drawn"], "survivors": len(told["survivors"])}


def zoo(found: Found) -> dict[str, Any]:
    """Architectures: how many were built and judged, how many are red and on what."""
    rows = found["architectures"]
    built = [row for row in rows.values() if row["built"]]
    red = {name: row["red"] for name, row in rows.items() if row["built"] and row["red"]}
    leaking = [name for name, checks in red.items() if any(check.startswith(LEAK) for check in checks)]
    return {
        "all": len(rows),
        "built": len(built),
        "checks": sum(row["ran"] for row in built),
        "red": len(red),
        "leaking": ", ".join(f"`{quote(name)}`" for name in leaking),
        "versions": ", ".join(f"{name} {version}" for name, version in found["versions"].items()),
        "table": findings(red),
    }


def findings(red: Mapping[str, Found]) -> Table:
    """What is red on models as they are published, and why; what has the same cause together."""
    told: dict[tuple[str, str], dict[str, str]] = {}
    for name, checks in red.items():
        for check, each in checks.items():
            alike = told.setdefault((check.partition("[")[0], each["cause"]), {})
            alike.setdefault(name, each["problem"])
    rows = [
        [
            ", ".join(f"`{quote(name)}`" for name in alike),
            check.replace("_", " "),
            quote(shorten(next(iter(alike.values())), LONGEST, placeholder=" …")),
            quote(cause),
        ]
        for (check, cause), alike in told.items()
    ]
    return Table(["architectures", "check", "what it says of the first", "cause"], rows)


def data_files(mutants: Found, models: Found) -> dict[str, str]:
    """File name to CSV text."""
    rows = [
        {
            "architecture": name,
            "built": row["built"],
            "ran": row.get("ran", 0),
            "red": " ".join(row.get("red", {})),
        }
        for name, row in models["architectures"].items()
    ]
    return {
        f"{NAME}.csv": matrix(mutants).to_csv(index=False),
        "zoo.csv": pd.DataFrame(rows).to_csv(index=False),
    }
