"""What the soak test found: who catches which planted bug, and what the checks say of other people's models."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from blockproof.ablations.frame import Frame
from blockproof.ablations.views import style
from blockproof.report.numbers import quote, whole
from blockproof.report.tables import Table

NAME = "mutants"
BLACK_BOX = "conformance/"
Found = Mapping[str, Any]


def matrix(found: Found) -> Frame:
    """One row a planted bug and test that turned red, or the test that it names."""
    rows = [
        {"class": each["rows"][0][0], "bug": name, "test": column(test), "intended": test == each["check"]}
        for name, each in found["mutants"].items()
        if not each["equivalent"]
        for test in each["killed_by"]
    ]
    return pd.DataFrame(rows, columns=["class", "bug", "test", "intended"])


def column(test: str) -> str:
    """A test of the black box by its name; others by their folder."""
    if test.startswith(BLACK_BOX):
        return test.rpartition("::")[2].removeprefix("test_").replace("_", " ")
    return f"({test.partition('/')[0]})"


def figure(found: Found) -> Figure:
    """Bugs by class, tests by what they ask; light if a test turned red, full if it is the one that must."""
    rows = matrix(found)
    best = rows.groupby(["class", "bug", "test"])["intended"].max().astype(int) + 1
    wide = best.unstack(fill_value=0).sort_index()
    wide = wide[wide.ne(0).sum().sort_values(ascending=False).index]
    drawn, axes = plt.subplots(figsize=(9.5, 10.5), layout="constrained")
    theme = style.current()
    shades = [theme.ground, theme.reference, theme.without_part]
    sns.heatmap(
        wide, cmap=shades, vmin=0, vmax=2, cbar=False, yticklabels=False, xticklabels=True, ax=axes, linewidths=0.2,
        linecolor=theme.faint,
    )  # fmt: skip
    letters = wide.index.get_level_values("class").to_series().reset_index(drop=True)
    middles = letters.groupby(letters).apply(lambda group: group.index.to_series().mean() + 0.5)
    axes.set_yticks(middles.to_list(), middles.index.to_list(), rotation=0)
    for end in letters.groupby(letters).apply(lambda group: group.index.max() + 1):
        axes.axhline(end, color=theme.ink, linewidth=0.6)
    axes.set(xlabel="test", ylabel="planted bug, by class")
    axes.set_title("Which test turns red for which bug", loc="left")
    return drawn


def naive(found: Found) -> Table:
    """What the usual tests catch of the same bugs."""
    summary = found["summary"]
    caught = summary["killed_by_naive"]
    rows = [
        [name.replace("_", " "), f"{whole(caught.get(name, 0))} of {whole(summary['bugs'])}"]
        for name in found["naive"]
    ]
    return Table(["a usual test", "bugs that it catches"], rows)


def syntax(found: Found) -> dict[str, int]:
    """The sample of changed syntax: how many were drawn, and survive with a reason."""
    told = found["syntax"]
    return {"drawn": told["drawn"], "survivors": len(told["survivors"])}


def zoo(found: Found) -> dict[str, Any]:
    """Architectures: how many were built and judged, how many are red and on what."""
    rows = found["architectures"]
    built = [row for row in rows.values() if row["built"]]
    red = {name: row["red"] for name, row in rows.items() if row["built"] and row["red"]}
    return {
        "all": len(rows),
        "built": len(built),
        "checks": sum(row["ran"] for row in built),
        "red": len(red),
        "versions": ", ".join(f"{name} {version}" for name, version in found["versions"].items()),
        "table": findings(red),
    }


def findings(red: Mapping[str, Found]) -> Table:
    """What is red on models as they are published, in the check's own words."""
    rows = [
        [f"`{quote(name)}`", check.partition("[")[0].replace("_", " "), quote(each["problem"])]
        for name, checks in red.items()
        for check, each in checks.items()
    ]
    return Table(["architecture", "check", "what it says"], rows)


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
