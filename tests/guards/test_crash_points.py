"""A crash point that a test names is one of the program's: a name that is nowhere kills nothing.

The other way round, that tests come by every point of the program, is shown by running it:
`tests/crash/test_crash_points.py::test_every_point_in_the_source_is_visited`.
"""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.programs import ROOT
from tests.torture.points import named

#: The change in the name of a commit, as in `ledger: after the commit (takes.accept)`.
CHANGE = re.compile(r"\((\w+)\.(\w+)\)$")
#: What a bench calls the shares of its time begins with the same words.
NOT_POINTS = "bench"


@cache
def points_in_tests() -> dict[str, str]:
    """Return every text of the tests that begins as a crash point does, and where it stands."""
    rooms = {name.partition(":")[0] for name in named()}
    begins = re.compile(rf"(?:{'|'.join(rooms)}): ")
    texts = {
        path: path.read_text()
        for path in (ROOT / "tests").rglob("*.py")
        if NOT_POINTS not in path.relative_to(ROOT).parts
    }
    return {
        node.value: f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, text in texts.items()
        if begins.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and begins.match(node.value)
    }


@pytest.mark.merge
def test_a_point_that_a_test_names_is_in_the_program() -> None:
    found, known = points_in_tests(), named()
    unknown = {text: at for text, at in found.items() if text.partition(" (")[0] not in known}

    assert len(found) > 15
    assert unknown == {}


@pytest.mark.merge
def test_a_change_that_a_test_names_is_in_the_program() -> None:
    functions = {
        (path.stem, node.name)
        for path in (ROOT / "tasks").rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    changes = [found.groups() for text in points_in_tests() if (found := CHANGE.search(text))]

    assert len(changes) > 5
    assert [change for change in changes if change not in functions] == []


@pytest.mark.merge
def test_a_point_has_a_name_of_its_own() -> None:
    assert [name for name, places in named().items() if places > 1] == []
