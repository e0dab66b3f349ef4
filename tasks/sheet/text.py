"""Text as it is kept: the same text, whatever program saved it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from tasks.brief import Json, canonical_text
from tasks.sheet.limits import MAX_CELL_CHARACTERS, MAX_DEPTH
from tasks.spreadsheet import unguarded

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
#: Zero width spaces and byte order marks: at the ends of a cell they are never meant.
_INVISIBLE_ENDS = "\u200b\u2060\ufeff"


def tidy(text: str) -> str:
    """Return a cell's text trimmed, in canonical form and without a spreadsheet's escape.

    Raises ValueError with a sentence for text that cannot be meant.
    """
    if len(text) > MAX_CELL_CHARACTERS:
        raise ValueError(f"has {len(text):,} characters; {MAX_CELL_CHARACTERS:,} is the limit")
    if text.isascii() and text.isprintable():
        # Most cells: nothing in them has another form.
        return unguarded(text.strip())
    canonical = canonical_text(text)
    if strange := _UNPRINTABLE.search(canonical):
        raise ValueError(f"holds the invisible character U+{ord(strange.group()):04X}")
    return unguarded(canonical.strip().strip(_INVISIBLE_ENDS).strip())


def tidy_value(value: Json, *, depth: int = 0) -> Json:
    """Return text, numbers, lists and objects with every text in them tidy."""
    if depth > MAX_DEPTH:
        raise ValueError(f"is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, str):
        return tidy(value)
    if isinstance(value, Mapping):
        return {tidy(str(name)): tidy_value(one, depth=depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [tidy_value(one, depth=depth + 1) for one in value]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        raise ValueError("is not a number that can be sent")
    return value


def plain(text: str) -> str:
    """Return text for comparing with known words: no invisible or look-alike characters."""
    if text.isascii():
        return text.strip()
    normal = unicodedata.normalize("NFKC", text)
    return "".join(c for c in normal if unicodedata.category(c) != "Cf").strip()


def is_blank(value: Json) -> bool:
    """Say whether a cell counts as absent."""
    return value is None or (isinstance(value, str | list | tuple | Mapping) and not value)


def as_text(value: Json) -> str:
    """Return a number or a truth value as a sheet would show it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
