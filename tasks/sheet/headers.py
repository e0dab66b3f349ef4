"""The names of columns: which there are, and what a header is in canonical form."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache

from callsheet.tasks.sheet.columns import ASKED, BODY, FIELDS, OWN, PARTS
from callsheet.tasks.sheet.synonyms import proposed
from callsheet.tasks.sheet.text import language_code, plain

#: Names the schema of a JSON sheet to an editor.
SCHEMA = "$schema"
KNOWN_COLUMNS = (*OWN, *ASKED)
#: Columns of the service that Callsheet fills itself.
OURS_TO_SET = ("idempotency_key", "start_generation")
_FREE = ("title", "topic", "script", "narration", "notes", FIELDS)
#: Also with the language of a translation: `productName.pt-BR`.
_CAMEL = re.compile(r"[a-z0-9]+(?:[A-Z][a-z0-9]*)+(?:\.[A-Za-z]{2,3}(?:[_-]\w{2,4})?)?")


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
    # People call their own number of a video so: only the column's exact name is the service's id.
    if underscored.casefold() == "video_id" and "_" not in header:
        return "video id"
    return underscored.casefold()


def is_kept_only(column: str) -> bool:
    """Say whether a column is kept for people and never read."""
    return column.startswith("x_")


def is_ours(column: str) -> bool:
    """Say whether a column was written by a status sheet and is left out when read again."""
    return column.startswith("cs_")


@lru_cache(maxsize=1000)
def kept_column(header: str) -> str | None:
    """Return the `x_` column that a header of a sheet that was read is; None for another column.

    What is no column's name was mapped to one, mostly to be kept as it is: `Client` is `x_client`.
    """
    name = canonical_header(header)
    if is_kept_only(name):
        return name
    return None if is_ours(name) or is_known(name) or proposed(header) else f"x_{name}"


def is_known(column: str) -> bool:
    """Say whether a column has a meaning."""
    head, _, name = column.partition(".")
    if head == BODY and name in OURS_TO_SET:
        return False
    if column in KNOWN_COLUMNS or (head in (FIELDS, BODY) and name != ""):
        return True
    return is_matrix_column(column) or is_translation(column)


#: The columns that are dates, which YAML and JSON sheets may say for all rows.
DATES = ("deliver_after", "deliver_by")


def takes_dates(column: str) -> bool:
    """Say whether a date may be meant in a column: in dates, free text, and inputs of a tool."""
    return column in (*_FREE, *DATES) or "." in column or not is_known(column)


def is_usable(column: str) -> bool:
    """Say whether a column may stand in a sheet, by its canonical name."""
    return is_known(column) or is_kept_only(column) or is_ours(column)


def explain_part(name: str) -> str:
    """Return what is wrong with a top name of a YAML or JSON sheet that is none of its parts."""
    if is_known(canonical_header(name)):
        return "belongs into a row, or into defaults when all rows share it"
    close = difflib.get_close_matches(name.casefold(), PARTS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there is {', '.join(PARTS)}"
    return f"is not a part of a sheet; {hint}"


# The names of columns that make several videos of one row, and of translated columns.


#: Members of the matrix that are not an axis, in a column of their own.
SETTINGS = ("id", "fallback")
#: Columns with a text, or a voice, for each language.
TRANSLATED = tuple(
    name for name in ("title", "topic", "script", "narration", "voice_id") if name in ASKED
)
#: Columns that can have several values in a matrix.
AXES = tuple(name for name in (*OWN, *ASKED) if name not in (*SETTINGS, "uses", "video_id", "was"))
MATRIX_PATTERN = rf"^matrix\.(?:{'|'.join((*SETTINGS, *AXES))}|fields\..+)$"
TRANSLATION_PATTERN = rf"^(?:{'|'.join(TRANSLATED)})\.[a-zA-Z]{{2,3}}(?:[-_][a-zA-Z0-9]{{2,4}})?$"
_MATRIX, _TRANSLATION = re.compile(MATRIX_PATTERN), re.compile(TRANSLATION_PATTERN)


def is_axis(column: str) -> bool:
    """Say whether a column can have several values in a matrix."""
    return column in AXES or (column.startswith("fields.") and column != "fields.")


def is_matrix_column(column: str) -> bool:
    """Say whether a column is an axis or a setting of the matrix."""
    return bool(_MATRIX.fullmatch(column))


def is_translation(column: str) -> bool:
    """Say whether a column is the text of another one in some language."""
    return bool(_TRANSLATION.fullmatch(column))


def split_translation(column: str, spoken: frozenset[str]) -> tuple[str, str] | None:
    """Return the column and the language of a translated column; None for any other.

    An input of a tool may have a dot of its own: it is translated when the sheet speaks the
    language after the dot.
    """
    base, _, said = column.rpartition(".")
    code = language_code(said.replace("_", "-"))
    if code is None:
        return None
    if is_translation(column) or (base.startswith("fields.") and code.casefold() in spoken):
        return base, code.casefold()
    return None
