"""The report's text: the template, filled with frames, verdicts and facts about the runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2

from blockproof.ablations.frame import variables
from blockproof.ablations.record import Record
from blockproof.ablations.study import Results
from blockproof.model.config import ModelConfig
from blockproof.report import (
    kept,
    model_section,
    numbers,
    own_tables,
    reproduction,
    sizes,
    soak,
    suite,
    tables,
)
from blockproof.report.verdicts import VERDICTS
from blockproof.report.verdicts.sizes import verdicts as verdicts_on_sizes

SHOWN = "norm_placement"  # the ablation whose model the report opens


def render(studies: Mapping[str, Results], evidence: suite.Evidence) -> str:
    """The text as it is published."""
    return numbers.unmark(render_marked(studies, evidence))


def render_marked(studies: Mapping[str, Results], evidence: suite.Evidence) -> str:
    """The text with a mark on every number."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("blockproof.report", ""),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "fixed": numbers.fixed, "whole": numbers.whole, "quote": numbers.quote, "held": held,
    }  # fmt: skip
    shown = studies[SHOWN].records[0].cell
    config, batch = ModelConfig.from_dict(shown.model), shown.train["batch_size"]
    return environment.get_template("template.md.j2").render(
        config=config,
        batch=batch,
        steps=model_section.opened(config, batch),
        sizes=sizes_section(),
        suite={"checks": own_tables.checks(suite.checks(evidence)), "verdicts": suite.claims(evidence)},
        sections=[section(name, study) for name, study in studies.items()],
        soak=soak_part(kept.mutants(), kept.zoo()),
        sample=studies["training"].frames["samples"]["sample"].iloc[0],
        reproduction=reproduction_part(),
        caught=own_tables.caught(suite.caught(evidence)),
        facts=facts([record for study in studies.values() for record in study.records]),
    )


def sizes_section() -> dict[str, Any]:
    """What the template needs of the published models' sizes."""
    models, changes = sizes.models(), sizes.changes()
    return {
        "models": own_tables.models(models),
        "changes": own_tables.changes(changes),
        "verdicts": verdicts_on_sizes(models, changes),
    }


def soak_part(mutants: soak.Found, models: soak.Found) -> dict[str, Any]:
    """What the template needs of the kill matrix and of other people's models."""
    return {
        "summary": mutants["summary"],
        "naive": soak.naive(mutants),
        "alone": soak.alone(mutants),
        "syntax": soak.syntax(mutants),
        "zoo": soak.zoo(models),
    }


def reproduction_part() -> dict[str, Any]:
    """What the template needs of the published result."""
    records = kept.reproduction()
    return {
        "origin": reproduction.ORIGIN,
        "sha256": f"{records[0].cell.data['sha256'][:12]}…",
        "verdict": reproduction.verdict(records),
    }


def section(name: str, study: Results) -> dict[str, Any]:
    """What the template needs of one ablation."""
    return {
        "name": name,
        "spec": study.spec,
        "table": tables.TABLES[name](study.table),
        "verdicts": VERDICTS[name](study.frames),
        "held": held_equal(study.records),
        "seeds": len({record.cell.seed for record in study.records}),
    }


def held_equal(records: Sequence[Record]) -> list[dict[str, Any]]:
    """By kind of run and source: every value that all its cells share."""
    groups: dict[tuple[str, Any], list[dict[str, Any]]] = {}
    for record in records:
        values = variables(record)
        groups.setdefault((values["run"], values.get("source")), []).append(values)
    return [
        {key: value for key, value in group[0].items() if all(other[key] == value for other in group)}
        for group in groups.values()
    ]


def held(values: Mapping[str, Any]) -> str:
    """Values held equal, in one line."""
    return ", ".join(f"{key} {_written(key, value)}" for key, value in values.items())


def _written(key: str, value: Any) -> str:
    if value is None:
        return "by default"
    if key == "sha256":
        return numbers.mark(f"{value[:12]}…")
    if isinstance(value, bool | str):
        return f"`{value}`" if isinstance(value, str) else ("yes" if value else "no")
    return numbers.mark(f"{value:g}")


def facts(records: Sequence[Record]) -> dict[str, Any]:
    """About all runs together: how they ended, how long they took, where, and of which source."""
    distinct = list({record.cell.key: record for record in records}.values())
    observed = [record.observed for record in distinct]
    ended = Counter(record.result["ended"] for record in distinct if record.cell.train)
    return {
        "cells": len(distinct),
        "ended": ", ".join(f"{numbers.whole(number)} {how}" for how, number in sorted(ended.items())),
        "minutes": sum(each["seconds"] for each in observed) / 60,
        "machines": Counter(f"{each['processor']}, {each['system']}" for each in observed),
        "software": Counter(f"Python {each['python']}, torch {each['torch']}" for each in observed),
        "commits": Counter(each["commit"] for each in observed),
    }
