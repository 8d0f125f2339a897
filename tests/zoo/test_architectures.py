"""Every causal language model of Hugging Face's that can be built tiny: no check is red but where one must be."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from blockproof.tests.plugin import MINIMUM
from blockproof.tests.zoo import architecture
from blockproof.tests.zoo.findings import FINDINGS
from blockproof.tests.zoo.judging import checks
from blockproof.tests.zoo.sizes import EXCEPTIONS, UNFIT
from blockproof.tests.zoo.stored import store, stored
from blockproof.tests.zoo.survey import survey

pytest.importorskip("transformers", reason="these are Hugging Face's models: pip install transformers")
NAMES = list(architecture.names())
SLOW = (
    "learns_a_tiny_batch_to_its_floor"  # hundreds of steps: in the soak run; GPT-2's and LLaMA's in every run
)
SAMPLE = (
    "gpt2", "opt", "bloom", "llama", "qwen3", "gemma2", "phi", "olmo2", "falcon", "mpt", "mixtral", "deepseek_v3",
    "mamba", "recurrent_gemma", "bart",
)  # fmt: skip

# What other people's code warns of is not for this suite to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is fetched, and nothing but problems is told."""
    from transformers.utils import logging  # noqa: PLC0415 (only where it is installed)

    monkeypatch.setitem(os.environ, "HF_HUB_OFFLINE", "1")
    told = logging.get_verbosity()
    logging.set_verbosity_error()
    yield
    logging.set_verbosity(told)


def hold(name: str, row: dict[str, Any]) -> None:
    """Exactly what must be red is red, and enough ran for a verdict."""
    if not row["built"]:
        assert name in UNFIT or "ImportError" in row["reason"], row["reason"]
        pytest.skip(row["reason"])
    assert row["ran"] >= MINIMUM, row["skipped"]
    red = {check.partition("[")[0]: found["problem"] for check, found in row["red"].items()}
    assert {*red} == {*FINDINGS.get(name, {})}, red


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_is_judged_rightly(name: str) -> None:
    """Fifteen that differ, by all checks but the one that trains for long."""
    hold(name, survey(name, tuple(check for check in checks() if check.name != SLOW)))


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_an_architecture_is_judged_rightly(name: str) -> None:
    """All of them, by all checks; the rows are what ``report/zoo.json`` tells."""
    row = survey(name)
    store(name, row)
    hold(name, row)


def test_tables_name_what_there_is() -> None:
    """No row of a table outlives its architecture or its check."""
    functions = {check.name.partition("[")[0] for check in checks()}
    assert {*SAMPLE, *EXCEPTIONS, *UNFIT, *FINDINGS} <= {*NAMES}
    assert {check for reasons in FINDINGS.values() for check in reasons} <= functions


def test_the_stored_result_is_of_these_tables() -> None:
    """It has a row for each architecture, red where the table says, for the reason that it gives."""
    rows = stored()["architectures"]
    assert [*rows] == sorted(NAMES)
    for name, row in rows.items():
        red = {check.partition("[")[0]: found["cause"] for check, found in row.get("red", {}).items()}
        assert red == FINDINGS.get(name, {}), name
