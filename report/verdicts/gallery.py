"""What the gallery of faults says."""

import numpy as np

from blockproof.ablations.cell import HEALTHY
from blockproof.ablations.frame import Frame
from blockproof.ablations.views.gallery import ALIKE, BAD, FACTOR, GOOD, MARGIN, UNCLEAR, table
from blockproof.report.numbers import quote, whole
from blockproof.report.verdict import FAILS, HOLDS, UNDECIDED, Verdict, judged

LEAKS = ("no shift", "no mask", "mask transposed")  # faults that show a place the token it is asked for
WITHIN = quote(f"{MARGIN:g}")


def verdicts(frames: dict[str, Frame]) -> list[Verdict]:
    """What a falling loss hides, what one that is too good means, and what shows a fault first."""
    rows = table(frames)
    rows = rows[rows["fault"] != HEALTHY]
    return [_falls(rows), _both_sides(rows), _too_good(rows), _first(rows)]


def _falls(rows: Frame) -> Verdict:
    """The textbook's reader: the loss falls as far as it should, and may fall further."""
    falls = rows["lost"] == 0
    passes = falls & rows["shows"].isin([GOOD, ALIKE])
    worthless = passes & (rows["honest_gap_low"] > MARGIN)
    caught = ~falls | (rows["shows"] == BAD)
    verdict = FAILS if worthless.any() else HOLDS if caught.all() else UNDECIDED
    return Verdict(
        "C9, on text",
        quote("a loss that falls as far as it should shows that a model is sound"),
        judged(verdict, rows["seeds"]),
        f"{whole(falls.sum())} faults leave a reported loss that falls, in every run, below that of a model without context. "
        f"It ends as low as that of sound code, or lower, for {_told(rows[passes])}. "
        f"Scored honestly, models are worse than sound ones by more than {WITHIN} nats for {_told(rows[worthless])} of these.",
    )


def _both_sides(rows: Frame) -> Verdict:
    """A reader who has a sound run beside it, and takes too low for as wrong as too high."""
    shown = {name: rows[rows["shows"] == name] for name in (GOOD, BAD, ALIKE, UNCLEAR)}
    verdict = FAILS if len(shown[ALIKE]) else UNDECIDED if len(shown[UNCLEAR]) else HOLDS
    return Verdict(
        "C9, both sides",
        quote("beside a sound run, the loss shows every fault, if too low is as wrong as too high"),
        judged(verdict, rows["seeds"]),
        f"By more than {WITHIN} nats, the reported loss ends too low for {_told(shown[GOOD])}, and too high for "
        f"{_told(shown[BAD])}. It ends within {WITHIN} nats for {_told(shown[ALIKE])}; it cannot be told for "
        f"{_told(shown[UNCLEAR])}.",
    )


def _too_good(rows: Frame) -> Verdict:
    """Which causes have this symptom."""
    good, leaks = rows[rows["shows"] == GOOD], rows[rows["fault"].isin(LEAKS)]
    others = good[~good["fault"].isin(LEAKS)]
    worse = good["honest_gap_low"] > MARGIN
    if len(others) or leaks["shows"].isin([ALIKE, BAD]).any():
        verdict = FAILS
    else:
        verdict = HOLDS if len(leaks) == len(good) == len(LEAKS) and worse.all() else UNDECIDED
    return Verdict(
        "C10, on text",
        quote("a loss too good is that of labels without a shift, or of a mask that lets the future through"),
        judged(verdict, rows["seeds"]),
        f"Of these faults {_told(good[good['fault'].isin(LEAKS)])} end too low, of all others {_told(others)}. Scored "
        f"honestly, {whole(worse.sum())} of those that end too low are worse than sound code.",
    )


def _first(rows: Frame) -> Verdict:
    """Which of two signs of the same batches comes first, fault by fault."""
    loss, gradient = (rows[f"{sign}_from"].fillna(np.inf) for sign in ("loss", "gradient"))
    seen = np.isfinite(np.minimum(loss, gradient))
    after = rows[loss > gradient]
    verdict = FAILS if len(after) else HOLDS if seen.any() else UNDECIDED
    return Verdict(
        "C10, first",
        quote("the loss of a batch shows a fault no later than the norm of its gradient"),
        judged(verdict, rows["seeds"]),
        f"The batch loss is off first, by {WITHIN} nats, for {_told(rows[loss < gradient])}; the gradient norm, by a factor of "
        f"{quote(f'{FACTOR:g}')}, for {_told(after)}; both at once for {_told(rows[seen & (loss == gradient)])}. Neither is "
        f"ever off for {_told(rows[~seen])}.",
    )


def _told(rows: Frame) -> str:
    """How many faults these are, and which."""
    names = ", ".join(rows["fault"])
    return whole(len(rows)) + (f" ({names})" if names else "")
