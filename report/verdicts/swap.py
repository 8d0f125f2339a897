"""What the swap ablation says."""

from blockproof.ablations.frame import Frame
from blockproof.ablations.statistics import Interval, t_interval
from blockproof.report.numbers import interval, quote, whole
from blockproof.report.verdict import FAILS, HOLDS, UNDECIDED, Verdict, judged, positive

MARGIN = 0.02  # nats; losses that are closer count as equal


def verdicts(frames: dict[str, Frame]) -> list[Verdict]:
    """Norms, positions, heads, and the gated feed-forward."""
    gaps = frames["gaps"]
    return [_norm(gaps), _position(gaps), _heads(frames), _gated(gaps)]


def _norm(gaps: Frame) -> Verdict:
    gap = _gap(gaps, "norm", "rmsnorm")
    return Verdict(
        "D8",
        quote("RMSNorm has the same effect as LayerNorm"),
        judged(_equal(gap), [gap.n]),
        f"Its final loss minus LayerNorm's is {interval(gap, 3)} nats; what lies within "
        f"{quote(f'{MARGIN:g}')} counts as equal.",
    )


def _position(gaps: Frame) -> Verdict:
    known = gaps.loc[gaps["part"] == "positions", "choice"].unique().tolist()
    found = {choice: _gap(gaps, "positions", choice) for choice in known}
    said = "; ".join(f"{quote(choice)} {interval(gap, 3)}" for choice, gap in found.items())
    if "sinusoidal" not in found:
        verdict = "not judged: not run"
    else:
        gap = found["sinusoidal"]
        as_well = HOLDS if gap.low > -MARGIN else FAILS if gap.high < -MARGIN else UNDECIDED
        verdict = judged(as_well, [gap.n])
    return Verdict(
        "B8",
        quote("learned positions do as well as sinusoidal ones, or better"),
        verdict,
        f"The final loss of other positions minus that of learned ones, in nats: {said}.",
    )


def _heads(frames: dict[str, Frame]) -> Verdict:
    gaps, usual = frames["gaps"], int(frames["runs"]["attention_n_heads"].mode()[0])
    known = sorted(gaps.loc[gaps["part"] == "heads", "choice"].unique(), key=int)
    found = {int(choice): _gap(gaps, "heads", choice) for choice in known}
    few, many = (
        gaps[(gaps["part"] == "heads") & (gaps["choice"] == choice)] for choice in (known[0], known[-1])
    )
    better = t_interval((few.set_index("seed")["gap"] - many.set_index("seed")["gap"]).tolist())
    said = "; ".join(f"{whole(heads)} {interval(gap, 3)}" for heads, gap in found.items())
    return Verdict(
        "D3",
        quote("at equal width, more heads learn more"),
        judged(positive(better), [better.n]),
        f"The final loss minus that with {whole(usual)} heads, in nats, by the number of heads: {said}. From the fewest to "
        f"the most it falls by {interval(better, 3)}.",
    )


def _gated(gaps: Frame) -> Verdict:
    gap = _gap(gaps, "feed-forward", "swiglu")
    better = Interval(-gap.mean, -gap.high, -gap.low, gap.n)
    return Verdict(
        "C11",
        quote("at equal size, SwiGLU learns better than GELU"),
        judged(positive(better), [gap.n]),
        f"SwiGLU's final loss minus GELU's, at matched parameters, is {interval(gap, 3)} nats.",
    )


def _gap(gaps: Frame, part: str, choice: str) -> Interval:
    return t_interval(gaps.loc[(gaps["part"] == part) & (gaps["choice"] == choice), "gap"].tolist())


def _equal(gap: Interval) -> str:
    """Whether a difference is within the margin, outside of it, or neither for sure."""
    if gap.low > -MARGIN and gap.high < MARGIN:
        return HOLDS
    return FAILS if gap.low > MARGIN or gap.high < -MARGIN else UNDECIDED
