"""`--select`: which rows a run touches.

Terms are separated by commas and must all hold: `name:pattern`, or a bare pattern for the row's
id. `|` in a pattern offers alternatives, `*` and `?` are wildcards, a leading `!` turns a term
round: `tag:launch,language:en|de,!draft-*`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Protocol, TypeVar

from tasks.errors import BadInput, did_you_mean

#: Names that are not fields of the request.
OWN = ("row", "state", "tag", "cost_center", "operation")
#: Fields of the request worth selecting by.
ASKED = ("tool", "title", "topic", "mode", "style", "voice_id", "music_id", "caption_style",
         "aspect_ratio", "language", "video_model", "duration_seconds")  # fmt: skip
#: Names whose values people make up, or the service: with a slip they choose nothing.
NAMED = ("tag", "cost_center", "operation", "tool", "mode", "style")


class Selectable(Protocol):
    """Anything with a row's id, tags, cost centre and operation."""

    @property
    def row(self) -> str: ...
    @property
    def tags(self) -> Sequence[str]: ...
    @property
    def cost_center(self) -> str | None: ...
    @property
    def operation(self) -> str: ...


Selection = Callable[[Selectable, Mapping[str, Any], str], bool]
#: A row, what it asks for, and its state.
Asked = tuple[Selectable, Mapping[str, Any], str]


def parse_selection(text: str | None) -> Selection:
    """Return a test of (row, its request, its state); raise BadInput for an unknown name."""
    terms = [_term(part.strip()) for part in (text or "").split(",") if part.strip()]

    def chosen(row: Selectable, request: Mapping[str, Any], state: str) -> bool:
        return all(term(row, request, state) for term in terms)

    return chosen


class SelectableRow(Selectable, Protocol):
    """A row of the ledger, as far as it is selected by."""

    @property
    def state(self) -> str: ...
    def asked(self) -> Mapping[str, Any]: ...


Row = TypeVar("Row", bound=SelectableRow)


def choose_rows(
    known: Sequence[Row], named: Collection[str] | None, select: str | None
) -> list[Row]:
    """Return those rows that are named, if any are, and chosen by a selection, if there is one.

    Raises BadInput for a selection that cannot be read, or has a slip and chooses nothing.
    """
    chosen, ids = parse_selection(select), frozenset(named or ())
    found = [
        row for row in known if (not ids or row.row in ids) and chosen(row, row.asked(), row.state)
    ]
    if not found:
        refuse_slips(select, ((row, row.asked(), row.state) for row in known))
    return found


def refuse_slips(select: str | None, rows: Iterable[Asked]) -> None:
    """Raise BadInput for a value of a selection that no row has, but a similar one.

    To be asked where a selection chooses none of these rows: (row, its request, its state).
    """
    rows = list(rows)
    for part in (select or "").split(","):
        name, _, pattern = part.strip().partition(":")
        if name not in NAMED or "*" in pattern or "?" in pattern:
            continue
        there = {value for row in rows for value in _values(name, *row) if value}
        for word in pattern.split("|"):
            hint = did_you_mean(word.strip(), there, cutoff=0.7)
            if hint and word.strip().casefold() not in map(str.casefold, there):
                raise BadInput(f"--select {part.strip()} chooses no row{hint}")


def _term(text: str) -> Selection:
    wanted = not text.startswith("!")
    name, colon, pattern = text.removeprefix("!").partition(":")
    if not colon:
        name, pattern = "row", name
    if name not in OWN + ASKED:
        hint = did_you_mean(name, OWN + ASKED).removeprefix("; ")
        raise BadInput(
            f'--select does not know "{name}"; nothing was spent',
            remedy=f"{hint} select by ".lstrip() + ", ".join(OWN + ASKED),
        )
    patterns = [alternative.strip().casefold() for alternative in pattern.split("|")]

    def holds(row: Selectable, request: Mapping[str, Any], state: str) -> bool:
        values = [value.casefold() for value in _values(name, row, request, state)]
        return wanted == any(fnmatchcase(v, p) for v in values for p in patterns)

    return holds


def _values(name: str, row: Selectable, request: Mapping[str, Any], state: str) -> Sequence[str]:
    own: dict[str, Sequence[str]] = {
        "row": [row.row],
        "state": [state],
        "tag": row.tags,
        "cost_center": [row.cost_center or ""],
        "operation": [row.operation],
    }
    return own[name] if name in OWN else [str(request.get(name, ""))]
