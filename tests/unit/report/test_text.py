"""The report's parts: facts that count each cell once, what is held equal, and the model's stages."""

import re
from dataclasses import replace

import jinja2
import pytest

from blockproof.ablations.catalogue import ABLATIONS
from blockproof.ablations.frame import select, variables
from blockproof.model.config import ModelConfig
from blockproof.model.parts import AttentionConfig
from blockproof.model.transformer import Transformer
from blockproof.report import model_section, text
from blockproof.report.numbers import unmark
from blockproof.tests.unit.ablations import fabricated
from blockproof.tests.unit.report import perturb
from blockproof.tests.unit.report.fabricated_evidence import evidence

RECORDS = fabricated.records("position", "smoke")


def test_facts_count_a_shared_cell_once() -> None:
    assert text.facts([*RECORDS, *RECORDS]) == text.facts(RECORDS)
    assert text.facts(RECORDS)["cells"] == len(RECORDS)


def test_facts_add_up() -> None:
    facts = text.facts(RECORDS)
    assert facts["minutes"] * 60 == pytest.approx(sum(record.observed["seconds"] for record in RECORDS))
    counts = [int(count) for count in re.findall(r"\d+", unmark(facts["ended"]))]
    assert sum(counts) == sum(record.cell.run == "train" for record in RECORDS)
    assert facts["machines"].total() == facts["software"].total() == facts["commits"].total() == len(RECORDS)


def test_facts_tell_machines_apart() -> None:
    elsewhere = replace(RECORDS[0], observed={**RECORDS[0].observed, "processor": "Another"})
    assert text.facts([elsewhere, *RECORDS[1:]])["machines"]["Another, Linux"] == 1


def test_what_varies_is_not_held_equal() -> None:
    for name in ABLATIONS:
        records = fabricated.records(name)
        for held in text.held_equal(records):
            group = [variables(r) for r in select(records, run=held["run"], source=held.get("source"))]
            seen = {name: {values[name] for values in group} for name in group[0]}
            assert held == {name: values.pop() for name, values in seen.items() if len(values) == 1}
            assert "seed" not in held


def test_held_values_are_written_by_their_kind() -> None:
    words = text.held({"bias": True, "norm": "rms", "lr": 0.001, "sha256": "0123456789abcdef", "no": False})
    assert unmark(words) == "bias yes, norm `rms`, lr 0.001, sha256 0123456789ab…, no no"


def test_the_stages_follow_a_real_forward_pass() -> None:
    config = ModelConfig(
        vocab_size=11, context=7, d_model=12, n_layers=2, attention=AttentionConfig(n_heads=3)
    )
    model = Transformer(config)
    for step, stage in model_section.opened(config, batch=5):
        owner = model if step.path == "model" else model.get_submodule(step.path)
        assert stage.kind == type(owner).__name__
        assert stage.parameters == sum(p.numel() for p in owner.parameters())
        assert stage.shape == (5, 7, 11 if step.path == "model" else 12)


def test_a_name_that_the_template_misspells_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = jinja2.DictLoader({"template.md.j2": "{{ facts.celsl }}"})
    monkeypatch.setattr(jinja2, "PackageLoader", lambda *names: loader)
    with pytest.raises(jinja2.UndefinedError, match="celsl"):
        text.render(perturb.studies(), evidence())


def test_the_text_is_whole() -> None:
    rendered = text.render(perturb.studies(), evidence())
    assert not {"\ue000", "\ue001", "\ue002"} & set(rendered)
    assert not re.search(r"\bnan\b", rendered)
    assert "None" not in rendered
    for name in ABLATIONS:
        assert f"figures/{name}-light.png" in rendered
        assert f"figures/{name}-dark.png" in rendered
