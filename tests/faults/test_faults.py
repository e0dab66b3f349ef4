"""The list of faults is whole, and what it points at exists."""

from __future__ import annotations

from tests.faults.faults import (
    DELIVERING,
    FAULTS,
    HOOKS,
    RUNNING,
    SUBMITTING,
    WAITING,
)
from tests.named_tests import ROOT, missing

#: How many there are at each place; none may get lost here.
COUNTS = (30, 10, 15, 21, 8)


def test_the_list_is_whole() -> None:
    places = (SUBMITTING, WAITING, HOOKS, DELIVERING, RUNNING)
    assert tuple(map(len, places)) == COUNTS
    assert len(FAULTS) == sum(COUNTS) == 84


def test_every_fault_is_shown_or_says_why_not() -> None:
    assert [name for name, fault in FAULTS.items() if not fault.tests and not fault.but] == []


def test_every_test_that_is_named_exists() -> None:
    named = [test for fault in FAULTS.values() for test in fault.tests]
    assert missing(test.partition("[")[0] for test in named) == []
    assert [test for test in named if not _has_case(test)] == []


def test_the_tests_of_this_folder_belong_to_a_fault() -> None:
    named = {test.partition("[")[0] for fault in FAULTS.values() for test in fault.tests}
    here = [
        f"tests/faults/{file.name}::{line.partition('def ')[2].partition('(')[0]}"
        for file in (ROOT / "tests" / "faults").glob("*.py")
        for line in file.read_text().splitlines()
        if line.startswith(("def test_", "async def test_"))
    ]
    own = "tests/faults/test_faults.py::"
    assert [test for test in here if test not in named and not test.startswith(own)] == []


def _has_case(test: str) -> bool:
    """Whether the file of a test knows the case that is named in brackets."""
    path, _, function = test.partition("::")
    _, bracket, case = function.partition("[")
    return not bracket or f'"{case.removesuffix("]")}"' in (ROOT / path).read_text()
