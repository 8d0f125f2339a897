"""What the test suite measured, as it wrote it down: checks, claims and pictures."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from blockproof.ablations.frame import Frame
from blockproof.ablations.record import RecordError
from blockproof.ablations.views import style
from blockproof.report.numbers import formatted, quote
from blockproof.report.verdict import Verdict

NAME, FILE = "suite", "evidence.json"
OVERFIT = "test_learns_a_tiny_batch_to_its_floor"
PARTS = ("checks", "claims", "pictures", "gallery")

Evidence = Mapping[str, Any]  # by part, then by name


def load(path: Path) -> Evidence:
    """Read what ``pytest --evidence`` wrote.

    Raises:
        RecordError: if it is missing, damaged or lacks a part.
    """
    remedy = "'make ablations' makes it"
    try:
        evidence: Evidence = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise RecordError(f"there is no evidence of the test suite at {path}: {remedy}") from None
    except ValueError as error:
        raise RecordError(f"the evidence in {path} is damaged ({error}): {remedy} anew") from error
    if lacking := [part for part in PARTS if part not in evidence]:
        raise RecordError(f"the evidence in {path} lacks {', '.join(lacking)}: {remedy} anew")
    return evidence


def checks(evidence: Evidence) -> Frame:
    """One row a check and number that it measured: the largest over all runs of it, and how these ended."""
    rows = []
    for each in evidence["checks"].values():
        told = {name: value for name, value in each["measured"].items() if not isinstance(value, str)}
        rows += [{**each, "measure": name, "value": value} for name, value in (told or {"": None}).items()]
    frame = pd.DataFrame(rows).astype({"value": float})
    frame["passed"] = frame["outcome"] == "passed"
    frame["ran"] = frame["outcome"] != "skipped"
    grouped = frame.groupby(["test", "measure"], sort=False, as_index=False)
    return grouped.agg(
        kind=("kind", "first"), value=("value", "max"), bound=("bound", "max"), passed=("passed", "sum"),
        ran=("ran", "sum"), reason=("reason", "max"),
    )  # fmt: skip


def claims(evidence: Evidence) -> list[Verdict]:
    """The claims on structure, their evidence filled with the measured values."""
    return [
        Verdict(claim, quote(each["says"]), each["verdict"], formatted(each["evidence"], each["values"]))
        for claim, each in evidence["claims"].items()
    ]


def caught(evidence: Evidence) -> Frame:
    """One row a fault of the gallery: what is wrong, a test that looks for it, and what this said of it."""
    rows = [{"fault": fault, **each} for fault, each in evidence["gallery"].items()]
    return pd.DataFrame(rows, columns=["fault", "says", "check", "outcome", "told"])


def curves(evidence: Evidence) -> Frame:
    """One row a model and update of the overfit check: its loss and the floor."""
    rows = [
        {"model": each["model"], "update": update, "loss": float(loss), "floor": each["measured"]["floor"]}
        for each in evidence["checks"].values()
        if each["test"] == OVERFIT and each["measured"]
        for update, loss in enumerate(each["measured"]["curve"].split())
    ]
    return pd.DataFrame(rows)


def attention(evidence: Evidence) -> Frame:
    """The weights of one head: a row a query, a column a key."""
    return pd.DataFrame(evidence["pictures"]["attention"]["weights"])


def data_files(evidence: Evidence) -> dict[str, str]:
    """File name to CSV text."""
    frames = {"checks": checks(evidence), "curves": curves(evidence), "attention": attention(evidence)}
    frames["gallery"] = caught(evidence)
    return {
        f"{NAME}-{name}.csv": rows.to_csv(index=False, float_format="%.6g") for name, rows in frames.items()
    }


def figure(evidence: Evidence) -> Figure:
    """Loss on the tiny batch for each of our models, with its floor; and where one head looks."""
    drawn, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.9), layout="constrained", width_ratios=(3, 2))
    rows = curves(evidence)
    models = list(dict.fromkeys(rows["model"]))
    sns.lineplot(rows, x="update", y="loss", hue="model", palette=style.parts(models), ax=left)
    left.set(yscale="log", ylabel="loss on the batch (nats)")
    left.set_title("One tiny batch, again and again", loc="left")
    left.legend(title=None)
    style.reference_line(left, rows["floor"].iloc[0], "floor: nothing that sees only the past gets below")
    _head(right, evidence["pictures"]["attention"])
    return drawn


def _head(axes: Axes, picture: Mapping[str, Any]) -> None:
    tokens = picture["tokens"]
    sns.heatmap(
        pd.DataFrame(picture["weights"]), cmap="viridis", vmin=0, vmax=1, square=True, ax=axes,
        xticklabels=tokens, yticklabels=tokens, cbar_kws={"label": "attention weight"},
    )  # fmt: skip
    axes.set(xlabel="key (token)", ylabel="query (token)")
    axes.set_title(f"After training: layer {picture['layer']}, head {picture['head']}", loc="left")
