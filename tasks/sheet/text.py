"""Text as it is kept: the same text, whatever program saved it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from callsheet.tasks.brief import Json, canonical_text
from callsheet.tasks.sheet.limits import MAX_CELL_CHARACTERS, MAX_DEPTH
from callsheet.tasks.spreadsheet import unguarded

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
#: Zero width spaces and byte order marks: at the ends of a cell they are never meant.
_INVISIBLE_ENDS = "\u200b\u2060\ufeff"
#: What word processors and spreadsheets put around a value.
QUOTES = "\"'`´‘’‚‛“”„‟«»‹›"
_AROUND = f"{QUOTES} \t\n\r\v\f\xa0\u1680\u2028\u2029\u202f"
#: Say only how the sign before them is drawn.
_VARIANTS = "\ufe0e\ufe0f"


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
    """Return text for comparing with known words.

    It has no invisible or look-alike characters, and no quotes or apostrophe of a word processor
    or a spreadsheet around it.
    """
    if text.isascii():
        return text.strip(_AROUND)
    return visible(unicodedata.normalize("NFKC", text)).strip(_AROUND)


def bare(text: str) -> str:
    """Return a name without quotes around it and without characters that nobody sees."""
    seen = text if text.isascii() else visible(text)
    if len(seen) > 2 and seen[0] in QUOTES and seen[-1] in QUOTES:
        return seen[1:-1].strip()
    return seen.removeprefix("'") or text


def visible(text: str) -> str:
    """Return text without characters that nobody sees."""
    return "".join(c for c in text if unicodedata.category(c) != "Cf" and c not in _VARIANTS)


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
