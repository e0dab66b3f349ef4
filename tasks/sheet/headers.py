"""Headers to columns: which names exist, what was meant, and what is refused."""

from __future__ import annotations

import difflib
import re

from callsheet.tasks.sheet.columns import ASKED, BODY, FIELDS, Document, OwnColumns
from callsheet.tasks.sheet.findings import Findings
from callsheet.tasks.sheet.text import plain

#: The parts of a YAML or JSON sheet.
PARTS = tuple(Document.model_fields)
#: Names the schema of a JSON sheet to an editor.
SCHEMA = "$schema"
KNOWN_COLUMNS = (*OwnColumns.model_fields, *ASKED)
_OURS_TO_SET = ("idempotency_key", "start_generation")
_MEANT = {
    "duration": "duration_seconds",
    "seconds": "duration_seconds",
    "length": "duration_seconds",
    "ratio": "aspect_ratio",
    "format": "aspect_ratio",
    "voice": "voice_id",
    "music": "music_id",
    "character": "character_id",
    "model": "video_model",
    "budget": "max_credits",
    "template": "tool",
    "name": "title",
    "row": "id",
    "key": "id",
    "subtitles": "captions",
    "picture": "image",
    "photo": "photos",
    "video": "clip",
    "kind": "operation",
    "type": "operation",
}
_FREE = ("title", "topic", "script", "narration", "notes", FIELDS)
_FIELD = re.compile(r"fields?[._]+(?P<name>.+)")
_CAMEL = re.compile(r"[a-z0-9]+(?:[A-Z][a-z0-9]*)+")


def canonical_header(header: str) -> str:
    """Return a header in canonical form: `  Aspect Ratio ` is `aspect_ratio`.

    A tool's own camelCase (`fields.productName`) is the service's spelling and is kept, and so is
    all that follows `body.`.
    """
    underscored = re.sub(r"[\s\-\u2010-\u2015]+", "_", plain(header))
    head, dot, name = underscored.partition(".")
    if dot and head.casefold() == FIELDS and _CAMEL.fullmatch(name):
        return f"{FIELDS}.{name}"
    if dot and head.casefold() == BODY:
        return f"{BODY}.{name}"
    return underscored.casefold()


def is_kept_only(column: str) -> bool:
    """Say whether a column is carried along for people and never read."""
    return column.startswith("x_")


def is_ours(column: str) -> bool:
    """Say whether a column was written by a status sheet and is left out when read again."""
    return column.startswith("cs_")


def is_known(column: str) -> bool:
    """Say whether a column has a meaning."""
    head, _, name = column.partition(".")
    if head == BODY and name in _OURS_TO_SET:
        return False
    return column in KNOWN_COLUMNS or (head in (FIELDS, BODY) and name != "")


def takes_dates(column: str) -> bool:
    """Say whether a date may be meant in a column: in words of one's own, and inputs of a tool."""
    return column in _FREE or "." in column or not is_known(column)


def check_header(header: str, findings: Findings, *, line: int | None, where: str = "") -> bool:
    """Say whether the column may be used; note the problem when it may not."""
    column = canonical_header(header)
    if is_known(column) or is_kept_only(column) or is_ours(column):
        return True
    if column.removeprefix(f"{BODY}.") in _OURS_TO_SET:
        message = "is set by Callsheet itself; remove the column"
    else:
        message = f"is not a column Callsheet knows; {_suggestion(column)}"
    findings.refuse(message, line=line, cell=where or "column", value=header.strip())
    return False


def _suggestion(column: str) -> str:
    if field := _FIELD.fullmatch(column):
        return f"did you mean fields.{field['name']}?"
    close = difflib.get_close_matches(column, (*KNOWN_COLUMNS, *_OURS_TO_SET), n=1, cutoff=0.7)
    if meant := _MEANT.get(column) or (close[0] if close else None):
        return f"did you mean {meant}?"
    return f"remove it, or call it x_{column} to keep it for yourself"


def explain_part(name: str) -> str:
    """Return what is wrong with a top name of a YAML or JSON sheet that is none of its parts."""
    if is_known(canonical_header(name)):
        return "belongs into a row, or into defaults when all rows share it"
    close = difflib.get_close_matches(name.casefold(), PARTS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there is {', '.join(PARTS)}"
    return f"is not a part of a sheet; {hint}"
