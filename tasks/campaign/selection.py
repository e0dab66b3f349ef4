"""`--select`: which rows a run touches.

Terms are separated by commas and must all hold: `name:pattern`, or a bare pattern for the row's
id. `|` in a pattern offers alternatives, `*` and `?` are wildcards, a leading `!` turns a term
round: `tag:launch,language:en|de,!draft-*`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Protocol

from tasks.errors import BadInput, did_you_mean

#: Names that are not fields of the request.
OWN = ("row", "state", "tag", "cost_center", "operation")
#: Fields of the request worth selecting by.
ASKED = ("tool", "title", "topic", "mode", "style", "voice_id", "music_id", "caption_style",
         "aspect_ratio", "language", "video_model", "duration_seconds")  # fmt: skip


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


def parse_selection(text: str | None) -> Selection:
    """Return a test of (row, its request, its state); raise BadInput for an unknown name."""
    terms = [_term(part.strip()) for part in (text or "").split(",") if part.strip()]

    def chosen(row: Selectable, request: Mapping[str, Any], state: str) -> bool:
        return all(term(row, request, state) for term in terms)

    return chosen


def _term(text: str) -> Selection:
    wanted = not text.startswith("!")
    name, colon, pattern = text.removeprefix("!").partition(":")
    if not colon:
        name, pattern = "row", name
    if name not in OWN + ASKED:
        raise BadInput(
            f'--select does not know "{name}"{did_you_mean(name, OWN + ASKED)}; nothing was spent',
            remedy="select by " + ", ".join(OWN + ASKED),
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
