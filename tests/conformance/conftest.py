"""Which model is judged, and in which order: what is looked at first explains what fails later."""

from collections.abc import Iterator
from dataclasses import fields

import pytest
import torch

from blockproof.tests.seam.load import SeamError, load
from blockproof.tests.seam.subject import Given, Subject, subject

# Of a fault that shows in several places, the first one here names its cause. All else presumes that a model
# is whole, and gives the same twice; a mask that is wrong may turn the loss into NaN, no loss moves the mask.
FIRST = ("test_everything_is_registered", "test_eval_mode_is_deterministic")
ORDER = (
    "test_causality", "test_labels", "test_rows", "test_start", "test_modes", "test_tying", "test_order",
    "test_overfit", "test_cache", "test_bounds",
)  # fmt: skip
OURS = ("gpt", "llama", "original", "relative")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One foreign model, or each of ours."""
    if "model" in metafunc.fixturenames:
        foreign = metafunc.config.getoption("--model")
        metafunc.parametrize(
            "model", [foreign] if foreign else OURS, scope="session", ids=["yours"] if foreign else OURS
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the conformance tests into their order; others keep their places among themselves."""
    places = [i for i, item in enumerate(items) if ".conformance." in _module(item)]
    ranked = sorted((items[i] for i in places), key=lambda item: rank(_module(item), item.name))
    for place, item in zip(places, ranked, strict=True):
        items[place] = item


def rank(module: str, test: str) -> tuple[int, int]:
    """The place of a test, named with its parameters or without, of a module."""
    name = test.partition("[")[0]
    first = FIRST.index(name) if name in FIRST else len(FIRST)
    return first, ORDER.index(module.rpartition(".")[2])


def _module(item: pytest.Item) -> str:
    """The name of the module that a test is in."""
    return item.module.__name__ if isinstance(item, pytest.Function) else ""


@pytest.fixture(scope="session")
def judged(model: str, request: pytest.FixtureRequest) -> Subject:
    """The model under test."""
    option = request.config.getoption
    if not option("--model"):
        from blockproof.tests.subjects import factory  # noqa: PLC0415 (foreign models need none of ours)

        return subject(model, factory(model), ours=True, seed=option("--check-seed"))
    given = {field.name: option(f"--{field.name.replace('_', '-')}") for field in fields(Given)}
    try:
        return subject(model, load(model), seed=option("--check-seed"), **given)
    except SeamError as error:
        pytest.exit(f"{error}", returncode=pytest.ExitCode.USAGE_ERROR)


@pytest.fixture(autouse=True)
def same_conditions(request: pytest.FixtureRequest) -> Iterator[None]:
    """As many threads and the seed that were asked for; the caller's thread count comes back."""
    threads = torch.get_num_threads()
    torch.set_num_threads(request.config.getoption("--check-threads"))
    torch.manual_seed(request.config.getoption("--check-seed"))
    yield
    torch.set_num_threads(threads)
