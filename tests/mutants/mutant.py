"""A mutant: a bug that people really reported, planted into this project, and the test that must catch it."""

from dataclasses import dataclass

from blockproof.ablations.patch import Patch


@dataclass(frozen=True)
class Mutant:
    """One planted bug.

    Attributes:
        name: a few words that say what is wrong.
        rows: ids of the catalogue of reported bugs that it stands for, such as ``"A01"``; see ``catalogue.py``.
        source: where it was reported, ``"owner/repo#N"`` or an address.
        patches: the change of the source that plants it.
        check: the test that must turn red, without parameters: ``"unit/test_corpus.py::test_name"`` below ``tests/``.
        naive: what is often tested instead and misses it: a function of ``naive.py``, or why there is none.
        equivalent: why the change alters no behaviour, for one that must stay green; otherwise empty.
    """

    name: str
    rows: tuple[str, ...]
    source: tuple[str, ...]
    patches: tuple[Patch, ...]
    check: str
    naive: str
    equivalent: str = ""
