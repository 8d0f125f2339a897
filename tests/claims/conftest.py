"""What is found about a claim goes into the evidence, for the report."""

from collections.abc import Callable
from typing import Any

import pytest

from blockproof.tests.claims.claim import Claim, Found


@pytest.fixture
def found(keep: Callable[[str, str, Any], None]) -> Callable[[Claim, Found], None]:
    """Records a claim with what its measurement says."""

    def record(claim: Claim, what: Found) -> None:
        told = {
            "says": claim.says,
            "verdict": what.verdict,
            "evidence": what.evidence,
            "values": dict(what.values),
        }
        keep("claims", claim.id, told)

    return record
