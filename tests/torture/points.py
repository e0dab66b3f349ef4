"""The crash points that the program names, read from its source."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable

from tests.programs import ROOT
from tests.torture.trial import Trial


def named() -> Counter[str]:
    """Return the names of all crash points of the program, each with how many places have it."""
    found: Counter[str] = Counter()
    tops = (ROOT / "tasks", ROOT / "flows", ROOT / "deployments")
    for path in (path for top in tops for path in top.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="crashpoint"), args=[ast.Constant(str(name)), *_]):
                    found[name] += 1
    return found


def visited(trial: Trial) -> set[str]:
    """Return the points that a campaign came by, each with what was done there."""
    return {visit.point for runs in trial.traces for run in runs for visit in run}


def unvisited(points: Iterable[str]) -> set[str]:
    """Return the names in the source that are none of these points."""
    return set(named()) - {point.partition(" (")[0] for point in points}
