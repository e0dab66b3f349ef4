"""What the last release promised still holds; docs/stability.md says what that is."""

from __future__ import annotations

import warnings

import pytest

from tests.promises.comparison import PROMISES, SEEN, added, broken, promised
from tests.promises.surfaces import Table


@pytest.mark.parametrize("name", PROMISES)
def test_what_was_promised_still_holds(name: str) -> None:
    old, new = promised(name), PROMISES[name]()
    assert broken(old, new, seen=name in SEEN) == [], (
        "programs of users rely on this: keep the old name next to the new one until the next "
        "major version. If no release ever had it, or the next version is a major one, record it "
        "with `python -m tests.promises` and say it in CHANGELOG.md under Changed or Removed"
    )
    if lines := added(old, new):
        warnings.warn(
            f"{len(lines)} names in {name} are not promised yet; `python -m tests.promises` "
            f"records them with the next release: {', '.join(lines[:5])}",
            stacklevel=1,
        )


OLD = {"run": "command", "run --budget": "one", "run --edits = cheapest": "value"}
CASES: dict[str, tuple[Table, list[str]]] = {
    "nothing": ({}, []),
    "something more": ({"run --canary": "no value", "run --edits = none": "value"}, []),
    "a command with what it needs": ({"undo": "command", "undo <row>": "one, required"}, []),
    "another type": ({"run --budget": "two"}, ["run --budget was one, and is two"]),
    "something that is needed": (
        {"run <sheet>": "one, required"},
        ["run <sheet> is new and required"],
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_a_change_breaks_a_promise_or_not(what: str) -> None:
    more, said = CASES[what]
    assert broken(OLD, OLD | more) == said
    assert added(OLD, OLD | more) == [name for name in more if name not in OLD]


@pytest.mark.parametrize("name", OLD)
def test_nothing_may_go(name: str) -> None:
    assert broken(OLD, {one: kind for one, kind in OLD.items() if one != name}) == [
        f"{name} is gone"
    ]


@pytest.mark.parametrize(
    ("old", "new", "holds"),
    [
        ("text", "text", True),
        ("nothing or text", "text", True),
        ("nothing or text", "nothing", True),
        ("nothing", "number", True),
        ("text", "number", False),
        ("text", "nothing", False),
        ("nothing or text", "number", False),
    ],
)
def test_a_type_that_was_seen_may_not_turn_up(old: str, new: str, holds: bool) -> None:
    assert (broken({"status: .owner": old}, {"status: .owner": new}, seen=True) == []) is holds
    # What is written in a schema is compared as it is.
    assert (broken({"a": old}, {"a": new}) == []) is (old == new)
