"""How newly made records agree with the ones published before."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from blockproof.ablations.cell import digest
from blockproof.ablations.record import Record
from blockproof.ablations.store import Archive

SPREADS = 3.0  # published standard deviations, between the seeds of a variant, that two runs may differ by


def agreement(records: Sequence[Record], published: Archive | None) -> str:
    """One line: how many cells are published, equal bit by bit, and within the published spread."""
    if published is None:
        return f"{len(records)} cells; nothing was published before"
    spread = spreads(list(published.records.values()))
    pairs = [(record, other) for record in records if (other := published.find(record.cell))]
    identical = sum(record.result == other.result for record, other in pairs)
    agreeing = sum(agrees(record, other, spread) for record, other in pairs)
    return (
        f"{agreeing} of {len(pairs)} published cells agree within {SPREADS:g} standard deviations of the "
        f"published seeds, {identical} of them bit by bit; {len(records) - len(pairs)} cells are new"
    )


def agrees(record: Record, other: Record, spread: Mapping[str, float]) -> bool:
    """Whether two records of one cell ended alike and as close as seeds are to each other."""
    if record.result == other.result:
        return True
    if record.result["ended"] != other.result["ended"]:
        return False
    distance = abs(measured(record) - measured(other))
    return distance <= SPREADS * spread[variant(other)]


def spreads(records: Sequence[Record]) -> dict[str, float]:
    """By variant, the standard deviation over its seeds of what was measured."""
    groups: dict[str, list[float]] = defaultdict(list)
    for record in records:
        groups[variant(record)].append(measured(record))
    return {name: _deviation(values) for name, values in groups.items()}


def variant(record: Record) -> str:
    """A name that the seeds of one variant share."""
    return digest({**record.cell.to_dict(), "seed": None})


def measured(record: Record) -> float:
    """The one number that stands for a record: its final loss, or the clean pair's change of logits."""
    result = record.result
    if "moved" in result:
        return float(result["moved"]["clean"])
    return float(result["loss_at_init"] if result["final_loss"] is None else result["final_loss"])


def _deviation(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return (sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)) ** 0.5
