"""How a check becomes a test: run, recorded, and failed or skipped with a reason."""

from collections.abc import Callable
from typing import Any

import pytest

from blockproof.tests.checks.evidence import Evidence, LackingError
from blockproof.tests.seam.load import SeamError

Judge = Callable[[Evidence], None]


def run(judge: Judge, check: Callable[..., Evidence], *given: Any, **named: Any) -> None:
    """Judge what a check finds; skip what the model does not have."""
    try:
        evidence = check(*given, **named)
    except LackingError as error:
        pytest.skip(str(error))
    except SeamError as error:
        judge(
            Evidence(
                {},
                "the model runs",
                str(error),
                "Make the call that failed work, or leave that argument out.",
            )
        )
        return
    judge(evidence)
