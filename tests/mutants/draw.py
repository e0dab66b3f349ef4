"""Draws small changes of the program by a seed: what a slip of the hand could have written.

A mutant is one node of the syntax tree, replaced: a comparison or a boolean operator turned round,
a condition negated, a number moved by one, a truth inverted, two arguments swapped, a statement
left out. What nobody promises is left alone: logging, annotations, docstrings, crash points.
"""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import zip_longest

from tests.mutants.lines import ROOT, sources

#: At least so many of each package, however small it is.
LEAST = 4
_TURNED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
#: Calls that leave nothing behind which a test could miss.
_UNTOLD = ("log.", "logger.", "logging.", "crashpoint(", "warnings.")


@dataclass(frozen=True)
class Mutant:
    """A piece of a file, by its offsets, and what stands there instead."""

    path: str
    line: int
    last_line: int
    begin: int
    end: int
    new: str
    kind: str
    #: Whether it is run when its file is imported, and not by whoever calls something.
    is_of_import: bool = False

    @property
    def package(self) -> str:
        """The folder that its file counts for: `tasks/ledger`, `deployments/board`, `flows`."""
        parts = self.path.split("/")[:-1]
        return "/".join(parts[:2])

    def applied(self, text: str) -> str:
        """Return the text of its file with the change."""
        return text[: self.begin] + self.new + text[self.end :]

    def words(self, text: str) -> str:
        """Return where it is, and what became what, on one line."""
        old = " ".join(text[self.begin : self.end].split())
        new = " ".join(self.new.split())
        return f"{self.path}:{self.line} {self.kind}: {old[:70]} -> {new[:70]}"


def draw(count: int, seed: int, paths: Sequence[str] = ()) -> list[Mutant]:
    """Return about `count` mutants, spread over packages by their size; the same for a seed.

    `paths` are the files that they are drawn from: all of the program unless told.
    """
    found = by_package(
        [
            mutant
            for path in paths or sources()
            # Migrations are never changed again, and are tested by what they lead to.
            if "/migrations/" not in path
            for mutant in mutants_in(path, (ROOT / path).read_text(encoding="utf-8"))
        ]
    )
    total, chance = sum(map(len, found.values())), random.Random(seed)
    chosen: list[Mutant] = []
    for several in found.values():
        share = max(LEAST, round(count * len(several) / total))
        chosen += _mixed(several, chance)[:share]
    # Whoever is cut short has tried a fair sample.
    chance.shuffle(chosen)
    return chosen


def _mixed(several: Sequence[Mutant], chance: random.Random) -> list[Mutant]:
    """Return mutants in an order by chance, of each kind as often as there are some left."""
    kinds = defaultdict[str, list[Mutant]](list)
    for mutant in several:
        kinds[mutant.kind].append(mutant)
    for each in kinds.values():
        chance.shuffle(each)
    rounds = zip_longest(*chance.sample(list(kinds.values()), len(kinds)))
    return [mutant for row in rounds for mutant in row if mutant is not None]


def mutants_in(path: str, text: str) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        # The tree counts bytes, the text characters.
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    tree = ast.parse(text)
    called = _called(tree)
    for node, new, kind in _changes(tree):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin, end = (
            offset(node.lineno, node.col_offset),
            offset(node.end_lineno, node.end_col_offset),
        )
        is_of_import = node.lineno not in called
        yield Mutant(path, node.lineno, node.end_lineno, begin, end, new, kind, is_of_import)


def _called(tree: ast.Module) -> set[int]:
    """Return the lines in bodies of functions: all others are run when the file is imported."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = (one for node in ast.walk(tree) if isinstance(node, kinds) for one in node.body)
    return {n for one in bodies for n in range(one.lineno, (one.end_lineno or one.lineno) + 1)}


_Change = tuple[ast.stmt | ast.expr, str, str]


def _changes(tree: ast.Module) -> Iterator[_Change]:
    for node in _told(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            other = deepcopy(node)
            other.ops = [_TURNED[type(node.ops[0])]()]
            yield node, f"({ast.unparse(other)})", "comparison"
        elif isinstance(node, ast.BoolOp):
            other_op = deepcopy(node)
            other_op.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield node, f"({ast.unparse(other_op)})", "boolean"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, f"({ast.unparse(node.operand)})", "boolean"
        elif isinstance(node, ast.If | ast.IfExp | ast.While) and not _is_compared(node.test):
            yield node.test, f"(not ({ast.unparse(node.test)}))", "condition"
        elif isinstance(node, ast.Constant):
            yield from _constant(node)
        elif isinstance(node, ast.Call):
            yield from _swapped(node)
        elif isinstance(node, ast.stmt) and _is_left_out(node):
            yield node, "pass", "statement"


def _told(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree but annotations, docstrings and what is only logged."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or _is_untold(node):
                continue
            yield node
            if not isinstance(node, ast.JoinedStr):
                yield from _told(node)


def _is_untold(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    if not isinstance(node, ast.Expr):
        return isinstance(node, ast.Import | ast.ImportFrom | ast.Assert)
    return isinstance(node.value, ast.Constant) or ast.unparse(node.value).startswith(_UNTOLD)


def _is_compared(test: ast.expr) -> bool:
    """Whether a condition is turned round by the mutants of its parts."""
    return isinstance(test, ast.Compare | ast.BoolOp) or (
        isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    )


def _constant(node: ast.Constant) -> Iterator[_Change]:
    if isinstance(node.value, bool):
        yield node, repr(not node.value), "constant"
    elif isinstance(node.value, int | float):
        yield node, repr(node.value + 1), "constant"


def _swapped(node: ast.Call) -> Iterator[_Change]:
    first = node.args[:2]
    if len(first) < 2 or any(isinstance(one, ast.Starred) for one in first):
        return
    if ast.unparse(first[0]) != ast.unparse(first[1]):
        other = deepcopy(node)
        other.args[:2] = reversed(other.args[:2])
        yield node, ast.unparse(other), "arguments"


def _is_left_out(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        return isinstance(value, ast.Call)
    return isinstance(node, ast.AugAssign | ast.Raise | ast.Continue | ast.Delete)


def by_package(mutants: Sequence[Mutant]) -> dict[str, list[Mutant]]:
    """Return mutants by the package that they are in."""
    found = defaultdict[str, list[Mutant]](list)
    for mutant in mutants:
        found[mutant.package].append(mutant)
    return dict(found)
