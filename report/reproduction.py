"""A published result beside ours: its curves, its verdict. The text it was made from is not the project's."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure

from blockproof.ablations import frame
from blockproof.ablations.frame import Frame
from blockproof.ablations.record import Record
from blockproof.ablations.statistics import t_interval
from blockproof.ablations.views import style
from blockproof.report.numbers import fixed, interval, quote, whole
from blockproof.report.verdict import FAILS, HOLDS, Verdict

NAME, FILE = "reproduction", "reproduction.json.xz"
PUBLISHED = 1.88  # nats, as nanoGPT reports it: an estimate from 20 random batches
EXPECTED, MARGIN = 1.91, 0.03  # on the whole split, from an independent run of the same configuration
ORIGIN = "tinyshakespeare.txt"


def curves(records: Sequence[Record]) -> Frame:
    """One row a seed and validation: the loss on the whole validation split."""
    return frame.validation_curves(records)[["seed", "step", "loss"]]


def verdict(records: Sequence[Record]) -> Verdict:
    """Two-sided: a loss that is too good is as wrong as one that is too bad."""
    found = [each for each in (record.result["final_loss"] for record in records) if each is not None]
    inside = [abs(each - EXPECTED) <= MARGIN for each in found]
    return Verdict(
        "nanoGPT",
        quote(
            f"its configuration for a processor ends within {MARGIN:g} of {EXPECTED:g} nats on the whole split"
        ),
        HOLDS if sum(inside) == len(records) else FAILS,
        f"{whole(sum(inside))} of {whole(len(records))} seeds end within; their mean is "
        f"{interval(t_interval(found), 3)} nats, the lowest {fixed(min(found), 3)}, the highest "
        f"{fixed(max(found), 3)}. Published is {quote(f'{PUBLISHED:g}')}, an estimate from a few random batches.",
    )


def data_files(records: Sequence[Record]) -> dict[str, str]:
    """File name to CSV text."""
    return {f"{NAME}-curves.csv": curves(records).to_csv(index=False, float_format="%.6g")}


def figure(records: Sequence[Record]) -> Figure:
    """Validation loss by update, a line a seed, and the band that the end must lie in."""
    drawn, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    theme = style.current()
    sns.lineplot(
        curves(records), x="step", y="loss", units="seed", estimator=None, color=theme.with_part,
        linewidth=1.2, alpha=0.8, ax=axes,
    )  # fmt: skip
    axes.axhspan(EXPECTED - MARGIN, EXPECTED + MARGIN, color=theme.reference, alpha=0.3, label="expected end")
    axes.set(xlabel="update", ylabel="validation loss (nats)")
    axes.set_title(f"nanoGPT's configuration, on {ORIGIN}", loc="left")
    axes.legend()
    return drawn
