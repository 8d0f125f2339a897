"""Every number of the report comes from its records: proven by changing them."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from blockproof.ablations.catalogue import ABLATIONS
from blockproof.ablations.frame import variables
from blockproof.ablations.record import Record
from blockproof.ablations.statistics import LEVEL
from blockproof.ablations.study import Results
from blockproof.model.config import ModelConfig, preset
from blockproof.model.nested import with_values
from blockproof.report import kept, sizes, text
from blockproof.report.numbers import END, NUMBER, QUOTED
from blockproof.report.verdicts import position
from blockproof.tests.unit.ablations import fabricated
from blockproof.tests.unit.report import fabricated_evidence, perturb
from blockproof.tests.unit.report.fabricated_evidence import evidence

# Digits that are no result: names, and the two conventions that the text states.
FIELDS = {name for record in fabricated.everything() for name in variables(record)}
ALLOWED = (
    r"\b[A-D]\d{1,2}\b",  # a claim's id
    r"\b(norm|add)[12]\b",  # nodes of the diagram
    r"`blocks\.0\.[a-z.]+`",  # a module's path
    r"`gpt2`|GPT-[23]",  # an init and models
    r"12 N D²",  # a formula
    rf"\b{100 * LEVEL:g} %",  # the level at which intervals are in fact computed
    rf"\b({'|'.join(name for name in FIELDS if re.search(r'[0-9]', name))})\b",  # fields such as beta1
)
# Where the number is 0 whatever the sizes: a part without parameters, a change that costs none.
ALWAYS_0 = r"chain_seed|\(AddResidual\)|\| as it is|half of the heads|half of GPT-2 small's heads"
TEMPLATE = (Path(text.__file__).parent / "template.md.j2").read_text("utf-8")


def digits(words: str) -> list[str]:
    """What is left of the digits when the allowed ones are gone, each with a little context."""
    rest = re.sub("|".join(ALLOWED), "", words)
    return re.findall(r".{0,20}\d.{0,20}", rest)


def numbers(words: str) -> list[str]:
    """The marked numbers, in order."""
    return re.findall(f"{NUMBER}(.*?){END}", words)


def quotations(words: str) -> list[str]:
    """What is quoted, in order."""
    return re.findall(f"{QUOTED}(.*?){END}", words)


def larger(name: str) -> ModelConfig:
    """Another preset, of other proportions, for the numbers that are a preset's."""
    config = preset(name)
    changes = {
        "d_model": 2 * config.d_model,
        "context": 9,
        "vocab_size": 3 * config.vocab_size,
        "n_layers": config.n_layers + 1,
        "feedforward.width": 10 * config.d_model,
    }
    return ModelConfig.from_dict(with_values(config.to_dict(), changes))


def more_runs(records: list[Record]) -> list[Record]:
    """Of the reproduction: a run more, and other losses."""
    return [*map(perturb.measured(3), records), perturb.measured(4)(records[0])]


OTHERS: dict[str, Callable[[Any], Any]] = {
    "mutants": perturb.of_more_mutants,
    "zoo": perturb.of_more_models,
    "reproduction": more_runs,
}


@pytest.fixture(scope="module")
def base() -> str:
    """The report with its marks."""
    return text.render_marked(perturb.studies(), evidence())


@pytest.fixture(scope="module")
def others() -> Iterator[dict[str, str]]:
    """The report of other records, or of other constants, by what is other about them."""
    changed = {
        "measured": perturb.studies(perturb.measured(1)),
        "measured again": perturb.studies(perturb.measured(2)),
        "ended": perturb.studies(perturb.ended),
        "observed": perturb.studies(perturb.observed),
        "later": perturb.studies(perturb.later),
        "mirrored": perturb.studies(perturb.mirrored),
        "designed": perturb.studies(perturb.designed),
        "warmed up": perturb.studies(perturb.warmed_up),
        "one seed more": perturb.studies(more_seeds=True),
    }
    rendered = {name: text.render_marked(group, evidence()) for name, group in changed.items()}
    told = {"suite": fabricated_evidence.measured(1), "suite again": fabricated_evidence.measured(2)}
    told |= {how: fabricated_evidence.ended(how) for how in ("passed", "failed")}
    rendered |= {name: text.render_marked(perturb.studies(), each) for name, each in told.items()}
    with pytest.MonkeyPatch.context() as patch:
        for name, other in OTHERS.items():
            patch.setattr(kept, name, partial(other, getattr(kept, name)()))
        rendered["kept"] = text.render_marked(perturb.studies(), evidence())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "preset", larger)
        patch.setattr(position, "TOLD_APART", 3e-8)
        yield rendered | {"constants": text.render_marked(perturb.studies(), evidence())}


def test_no_digit_stands_outside_of_a_mark(base: str) -> None:
    assert digits(re.sub(f"[{NUMBER}{QUOTED}].*?{END}", "", base)) == []


def test_no_digit_stands_in_the_template() -> None:
    """But for decimals to round to, and the factor of a per cent."""
    assert digits(re.sub(r"\| fixed\(\d\)|\(100 \* ", "", TEMPLATE)) == []


def test_the_guard_itself_sees_a_typed_number() -> None:
    assert digits("costs 0.3 nats at 12 layers") != []
    assert digits("C18, `blocks.0.attention.norm`, beta1") == []


def test_every_number_changes_with_the_records(base: str, others: dict[str, str]) -> None:
    """Line by line, number by number: each differs in the report of some other records.

    Where other records make a sentence one number longer or shorter, that line is not compared.
    """
    lines = base.splitlines()
    rendered = [other.splitlines() for other in others.values()]
    assert {len(other) for other in rendered} == {len(lines)}
    fixed = []
    for i, line in enumerate(lines):
        versions = [numbers(other[i]) for other in rendered]
        for j, number in enumerate(own := numbers(line)):
            if all(other[j] == number for other in versions if len(other) == len(own)):
                fixed.append(f"{number} in: {line}")
    assert [each for each in fixed if not re.match(f"0 in: .*({ALWAYS_0})", each)] == []


def test_no_number_hides_in_a_quotation(base: str, others: dict[str, str]) -> None:
    """A claim's own numbers stay, whatever the records say; of what was kept, the words themselves were found."""
    for name in {*others} - {"kept"}:
        other = others[name]
        assert quotations(other) == quotations(base), name


def said(study: Results) -> list[str]:
    """The table and the evidence of an ablation, as they are printed."""
    section = text.section(study.name, study)
    return [cell for row in section["table"].rows for cell in row] + [v.evidence for v in section["verdicts"]]


# The numbers of "training" are the clock's and the sizes', but for its learning curve.
@pytest.mark.parametrize("name", [name for name in ABLATIONS if name != "training"])
def test_every_measured_number_changes_with_what_was_measured_and_with_nothing_else(name: str) -> None:
    """What has decimals is measured: counts have none, and rates are written as 3e-4."""
    ours = said(perturb.studies()[name])
    measured = [said(perturb.studies(perturb.measured(seed))[name]) for seed in (1, 2)]
    designed = said(perturb.studies(perturb.designed)[name])
    compared = 0
    for words, *jittered, elsewhere in zip(ours, *measured, designed, strict=True):
        versions = [numbers(other) for other in jittered]
        for j, number in enumerate(numbers(words)):
            if "." in number:
                assert any(other[j] != number for other in versions), f"{number} in: {words}"
                assert numbers(elsewhere)[j] == number, f"{number} in: {words}"
                compared += 1
    assert compared > 10
