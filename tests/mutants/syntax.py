"""Small changes of the syntax of ``model/``, by a tool's operators, drawn by a hash: a change nobody thought of.

Unlike the bugs that were reported, these stand for none; what survives is either without effect, or a gap.
"""

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from blockproof.ablations.patch import functions
from blockproof.tests.mutants.harness import ROOT

SEED, NUMBER = 0, 150
SURVIVORS = (
    ROOT / "mutants" / "survivors.yaml"
)  # those that change nothing which is promised, with the reasons
# The tests that belong to a module, run before all others.
MODULES: dict[str, tuple[str, ...]] = {
    "attention": ("unit/test_attention.py", "unit/test_cache.py"),
    "cache": ("unit/test_cache.py",),
    "config": ("unit/test_config.py", "unit/test_feedforward.py", "unit/test_count.py"),
    "corpus": ("unit/test_corpus.py",),
    "count": ("unit/test_count.py",),
    "evaluate": ("unit/test_evaluate.py",),
    "feedforward": ("unit/test_feedforward.py",),
    "init": ("unit/test_init.py",),
    "labels": ("unit/test_labels.py",),
    "markov": ("unit/test_markov.py",),
    "monitor": ("unit/test_monitor.py", "unit/running/test_first_not_finite.py"),
    "nested": ("unit/test_nested.py",),
    "norm": ("unit/test_norm.py",),
    "optimizer": ("unit/test_optimizer.py",),
    "parts": ("unit/test_config.py", "unit/test_attention.py"),
    "position": ("unit/test_position.py",),
    "recall": ("unit/test_recall.py",),
    "residual": ("unit/test_residual.py",),
    "sampling": ("unit/test_sampling.py", "unit/test_generate_rules.py"),
    "schedule": ("unit/test_schedule.py",),
    "schema": ("unit/test_schema.py", "unit/test_config.py"),
    "source": ("unit/test_synthetic.py", "unit/test_corpus.py"),
    "synthetic": ("unit/test_synthetic.py",),
    "trace": ("unit/test_trace.py",),
    "train": ("unit/test_train.py", "unit/test_divergence.py"),
    "train_config": ("unit/test_config.py", "unit/test_trainer.py"),
    "trainer": ("unit/test_trainer.py", "unit/test_train.py"),
    "transformer": ("unit/test_transformer.py", "unit/test_cache.py"),
}
# Arithmetic, comparison, logic, numbers, loops. Shifts and powers are mostly type errors at once.
KINDS = ("Add", "Sub", "Mul", "Div")
LOGIC = (
    "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "NumberReplacer", "ZeroIterationForLoop",
)  # fmt: skip


@dataclass(frozen=True)
class Site:
    """Where an operator can act.

    Attributes:
        module: below ``blockproof.model``.
        operator: its name.
        occurrence: which of all the places in the file that it can act on.
        place: line and column.
        line: the text there.
    """

    module: str
    operator: str
    occurrence: int
    place: tuple[int, int]
    line: str

    @property
    def rank(self) -> str:
        """Decides who is drawn: by text, not by number, so that a change elsewhere does not move the sample."""
        told = f"{SEED}/{self.module}/{self.operator}/{self.line}/{self.place[1]}"
        return hashlib.sha256(told.encode()).hexdigest()


@dataclass(frozen=True)
class Change:
    """One change: the module below ``blockproof.model``, a line as it is and as it becomes, the whole new text."""

    module: str
    old: str
    new: str
    source: str

    @property
    def name(self) -> str:
        """What the list of survivors knows it by."""
        return f"{self.module}: {self.old} -> {self.new}"


@cache
def sample() -> tuple[dict[str, Change], int]:
    """The changes that are drawn, by name, at most one at a place; and how many were drawn outside of functions."""
    first: dict[tuple[str, tuple[int, int]], Site] = {}
    for module in MODULES:
        for site in sites(module):
            key = site.module, site.place
            first[key] = min(first.get(key, site), site, key=lambda each: each.rank)
    drawn: dict[str, Change] = {}
    outside = 0
    for site in sorted(first.values(), key=lambda site: site.rank):
        text = text_of(site.module)
        source = mutate_code(text, get_operator(site.operator)(), site.occurrence) or text
        if not _parses(source):
            continue
        if not within_functions(text, source):
            outside += 1
            continue
        change = Change(site.module, _line(text, source), _line(source, text), source)
        drawn.setdefault(change.name, change)
        if len(drawn) == NUMBER:
            break
    return dict(sorted(drawn.items())), outside


def text_of(module: str) -> str:
    """The source of a module."""
    return (ROOT.parent / "model" / f"{module}.py").read_text("utf-8")


def sites(module: str) -> Iterator[Site]:
    """Every place in a module that one of the operators can act on."""
    text = text_of(module)
    lines, nodes = text.splitlines(), list(ast_nodes(get_ast(text)))
    for name in filter(_wanted, operator_names()):
        operator = get_operator(name)()
        places = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, place in enumerate(places):
            yield Site(module, name, occurrence, place, lines[place[0] - 1].strip())


def within_functions(before: str, after: str) -> bool:
    """Whether the bodies of functions alone differ, and do so for the compiler: an annotation does not."""
    trees = [ast.parse(text) for text in (before, after)]
    bodies = [{path: _code(node) for path, node in functions(tree)} for tree in trees]
    for tree in trees:
        for _, node in functions(tree):
            node.body = [ast.Pass()]
    return ast.dump(trees[0]) == ast.dump(trees[1]) and bodies[0] != bodies[1]


def _code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The statements of a function, without the annotations of names."""
    for node in ast.walk(function):
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return [ast.dump(line) for line in function.body]


def _wanted(name: str) -> bool:
    kind = name.removeprefix("core/")
    if kind.startswith("ReplaceBinaryOperator"):
        return all(part in KINDS for part in kind.split("_")[1:])
    if kind.startswith("ReplaceComparisonOperator"):  # whether a literal is the same object is no question
        return "Is" not in kind or kind.endswith(("Is_IsNot", "IsNot_Is"))
    return kind in LOGIC or kind.startswith("ReplaceUnaryOperator")


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _line(text: str, other: str) -> str:
    """The first line of a text that is another in the other."""
    lines, others = text.splitlines(), other.splitlines()
    pairs = zip(lines, others, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(lines), len(others)) - 1)
    return lines[at].strip()
