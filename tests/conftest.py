"""Every test runs on one thread and from one seed, so that no result depends on machine or order."""

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Sums in another order would round differently."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seed() -> None:
    """Each test draws the same numbers whether run alone or with the others."""
    torch.manual_seed(0)
