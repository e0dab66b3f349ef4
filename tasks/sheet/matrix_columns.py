"""The names of columns that make several videos of one row, and of translated columns."""

from __future__ import annotations

import re

from callsheet.tasks.sheet.columns import ASKED, OwnColumns
from callsheet.tasks.sheet.text import language_code

#: Members of the matrix that are not an axis, in a column of their own.
SETTINGS = ("id", "fallback")
#: Columns with a text, or a voice, for each language.
TRANSLATED = tuple(
    name for name in ("title", "topic", "script", "narration", "voice_id") if name in ASKED
)
_AXES = tuple(
    name
    for name in (*OwnColumns.model_fields, *ASKED)
    if name not in (*SETTINGS, "uses", "video_id", "was")
)
MATRIX_PATTERN = rf"^matrix\.(?:{'|'.join((*SETTINGS, *_AXES))}|fields\..+)$"
TRANSLATION_PATTERN = rf"^(?:{'|'.join(TRANSLATED)})\.[a-zA-Z]{{2,3}}(?:[-_][a-zA-Z0-9]{{2,4}})?$"
_MATRIX, _TRANSLATION = re.compile(MATRIX_PATTERN), re.compile(TRANSLATION_PATTERN)


def is_axis(column: str) -> bool:
    """Say whether a column can have several values in a matrix."""
    return column in _AXES or (column.startswith("fields.") and column != "fields.")


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
