"""Compares what there is with what the last release promised."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.promises import surfaces
from tests.promises.documents import documents

FOLDER = Path(__file__).parent
#: The tables of what was seen, and not of what is written somewhere.
SEEN = {"documents"}
#: Every table that is promised, by the name of its file.
PROMISES: Mapping[str, Callable[[], surfaces.Table]] = {
    one.__name__.replace("_", "-"): one
    for one in (
        surfaces.api,
        surfaces.commands,
        documents,
        surfaces.exit_statuses,
        surfaces.metrics,
        surfaces.python,
        surfaces.settings,
        surfaces.sheets,
    )
}


def promised(name: str) -> surfaces.Table:
    """Return a table as the last release had it."""
    return dict(json.loads((FOLDER / f"{name}.json").read_text()))


def record(name: str, found: surfaces.Table) -> None:
    """Write a table as what the next release promises."""
    text = json.dumps(found, indent=0, sort_keys=True, ensure_ascii=False)
    (FOLDER / f"{name}.json").write_text(f"{text}\n")


def broken(old: surfaces.Table, new: surfaces.Table, *, seen: bool = False) -> list[str]:
    """Return a sentence for each promise that is not kept: removed, changed, or newly required.

    `seen` is for types that were seen in answers: not all of them turn up every time.
    """
    removed = [f"{name} is gone" for name in old if name not in new]
    changed = [
        f"{name} was {kind}, and is {new[name]}"
        for name, kind in old.items()
        if name in new and not (_was_seen(kind, new[name]) if seen else kind == new[name])
    ]
    needed = [
        f"{name} is new and required"
        for name, kind in new.items()
        # Nothing that is new as a whole breaks what is there.
        if name not in old and kind.endswith(", required") and _owner(name, new) in old
    ]
    return removed + changed + needed


def added(old: surfaces.Table, new: surfaces.Table) -> list[str]:
    """Return what is new, to be recorded with the next release."""
    return [name for name in new if name not in old]


def _was_seen(old: str, new: str) -> bool:
    # Of what was always empty, no type is promised.
    return old == "nothing" or {*new.split(" or ")} <= {*old.split(" or ")}


def _owner(name: str, table: surfaces.Table) -> str:
    """Return what a parameter, an option or a member belongs to."""
    ends = (end for end in range(len(name) - 1, 0, -1) if name[end] in "(. ")
    return next((name[:end] for end in ends if name[:end] in table), "")
