"""All mutants: every ``MUTANTS`` of a file beside this one."""

import importlib
import pkgutil

from blockproof.tests import mutants
from blockproof.tests.mutants.mutant import Mutant

FILES = sorted(
    module.name
    for module in pkgutil.iter_modules(mutants.__path__)
    if module.name != "table" and not module.name.startswith("test_")
)
MUTANTS: tuple[Mutant, ...] = tuple(
    mutant
    for name in FILES
    for mutant in getattr(importlib.import_module(f"{mutants.__name__}.{name}"), "MUTANTS", ())
)
BY_NAME = {mutant.name: mutant for mutant in MUTANTS}
