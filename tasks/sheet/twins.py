"""Rows that are, or would be taken for, the same row."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.brief import Brief
from tasks.errors import shorten
from tasks.sheet.findings import Findings
from tasks.sheet.identity import fold
from tasks.sheet.table import Cell


@dataclass(frozen=True)
class Draft:
    """A brief whose id is not yet known to be its own; `place` is the cell the id stands in."""

    brief: Brief
    place: Cell | None


def refuse_twins(drafts: list[Draft], findings: Findings) -> None:
    """Refuse two rows that some file system, or their content, makes one."""
    first: dict[str, Draft] = {}
    for draft in drafts:
        twin = first.setdefault(fold(draft.brief.row), draft)
        if twin is draft:
            continue
        line = twin.brief.line
        if draft.place is None and twin.place is None:
            message = (
                f"asks for the same film as line {line} (both without an id): "
                "delete one, or give each an id if two films are wanted"
            )
            findings.refuse(message, line=draft.brief.line, value=shorten(draft.brief.title))
        else:
            same = "the id" if twin.brief.row == draft.brief.row else "but for its capitals the id"
            place = draft.place or twin.place
            findings.refuse(
                f"is {same} of line {line} too: every row needs one of its own",
                line=draft.brief.line,
                cell=place.where if place else "id",
                value=draft.brief.row,
            )
