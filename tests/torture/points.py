"""The crash points that the program names, read from its source."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from functools import cache

from tests.marks import marked
from tests.repository import PROGRAM, files_in
from tests.torture.trial import Trial


@cache
def named() -> Counter[str]:
    """Return the names of all crash points of the program, each with how many places have it."""
    found: Counter[str] = Counter()
    texts = (path.read_text() for path in files_in(*PROGRAM))
    for text in texts:
        for node in ast.walk(ast.parse(text)) if "crashpoint(" in text else ():
            match node:
                case ast.Call(func=ast.Name(id="crashpoint"), args=[ast.Constant(str(name)), *_]):
                    found[name] += 1
    return found


def visited_alone() -> set[str]:
    """Return the points that tests come by which have them as a mark, and no campaign does.
    All of the board and of a night are tried by `python -m tests.torture --only beside`.
    """
    return {point for _, points in marked("crashpoint") for point in points}


def visited(trial: Trial) -> set[str]:
    """Return the points that a campaign came by, each with what was done there."""
    return {visit.point for runs in trial.traces for run in runs for visit in run}


def unvisited(points: Iterable[str]) -> set[str]:
    """Return the names in the source that are none of these points."""
    return set(named()) - {point.partition(" (")[0] for point in points}
