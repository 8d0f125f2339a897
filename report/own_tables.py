"""Tables of what no ablation measured: published sizes, and what the suite found."""

from blockproof.ablations.frame import Frame
from blockproof.report.numbers import fixed, power, quote, whole
from blockproof.report.tables import Table, rows_of


def models(frame: Frame) -> Table:
    """Published models: as published, as counted, and the estimate."""
    heads = [
        "model",
        "N",
        "D",
        "published",
        "counted",
        "of these in blocks",
        "12 N D²",
        "off from blocks, %",
        "off from all, %",
    ]
    rows = [
        [
            quote(row.name),
            whole(row.n_layers),
            whole(row.d_model),
            quote(f"{row.parameters:,}" + (", rounded" if row.rounded else "")),
            whole(row.total),
            whole(row.blocks),
            whole(row.formula),
            fixed(100 * row.formula_error, 3),
            fixed(100 * row.total_error),
        ]
        for row in rows_of(frame)
    ]
    return Table(heads, rows)


def changes(frame: Frame) -> Table:
    """What one change makes of a model's parameters."""
    rows = [[row.change, whole(row.total), whole(row.more)] for row in rows_of(frame)]
    return Table(["GPT-2 small", "parameters", "more than as it is"], rows)


def checks(frame: Frame) -> Table:
    """One row a check: the largest of all runs of each number that it measured."""
    rows = []
    for test, group in frame.groupby("test", sort=False):
        first = next(rows_of(group))
        told = [
            f"{quote(row.measure)} {power(row.value)}" for row in rows_of(group) if row.value == row.value
        ]
        ran = (
            f"{whole(first.passed)} of {whole(first.ran)}" if first.ran else f"not run: {quote(first.reason)}"
        )
        words = str(test).removeprefix("test_").replace("_", " ")
        rows.append([words, first.kind, "; ".join(told), quote(first.bound), ran])
    return Table(["check", "kind", "measured, the largest", "bound", "passed"], rows)


def caught(frame: Frame) -> Table:
    """Fault by fault: what is wrong, and what the suite made of it."""
    rows = [[row.fault, row.says, f"`{row.check}`", row.outcome, quote(row.told)] for row in rows_of(frame)]
    return Table(["fault", "what is wrong", "a test that looks for it", "with the fault", "it says"], rows)
