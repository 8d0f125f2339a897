"""What a check found: numbers, the bound they are held to, and if they break it, what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Evidence:
    """The outcome of one check of one model.

    Attributes:
        measured: what was measured, by name; plain numbers and words.
        bound: what the numbers are held to, in words.
        problem: what is wrong, with the numbers that show it; empty if nothing is.
        remedy: what to change, if something is wrong.
    """

    measured: Mapping[str, float | int | str]
    bound: str
    problem: str = ""
    remedy: str = ""

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problem


class LackingError(Exception):
    """The model lacks what a check is about; the message says what. It is no fault: the check is skipped."""
