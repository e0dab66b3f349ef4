"""Names that are safe everywhere: of rows, of campaigns, and of every video."""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Mapping
from string import Formatter

from callsheet.tasks.brief import CREATE, Json, canonical_json

ROW = r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}"
CAMPAIGN = r"[a-z0-9][a-z0-9._-]{0,79}"
EXPONENT = r"[0-9]+([.,][0-9]+)?[eE][+-]?[0-9]+"
LONG_NUMBER = r"[0-9]{16,}"
_ROW, _CAMPAIGN = re.compile(ROW), re.compile(CAMPAIGN)
#: Most ids: nothing that is said below can be wrong with them.
_PLAIN = re.compile("[A-Za-z][A-Za-z0-9_-]{0,79}")
_EXPONENT, _LONG_NUMBER = re.compile(EXPONENT), re.compile(LONG_NUMBER)
_PLACEHOLDERS = ("campaign", "row", "take")
DEVICES = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)))
)


def row_id_fault(text: str) -> str | None:
    """Return what is wrong with a row's id, or None."""
    if _PLAIN.fullmatch(text) and text.lower() not in DEVICES:
        return None
    if _EXPONENT.fullmatch(text):
        return "is a number a spreadsheet has rewritten; give the id a letter in front (row-1)"
    if _LONG_NUMBER.fullmatch(text):
        return "has more than 15 digits, which spreadsheets round; give it a letter in front"
    if fault := _path_fault(text):
        return f"{fault}{_proposal(text)}"
    if not _ROW.fullmatch(text):
        return (
            "is not an id: at most 80 letters, digits, dots, dashes and underscores, "
            f"a letter or digit first{_proposal(text)}"
        )
    return None


def campaign_fault(text: str) -> str | None:
    """Return what is wrong with a campaign's name, or None."""
    slug = slugify(text).lower()
    hint = f'; try "{slug}"' if slug and slug != text and not _path_fault(slug) else ""
    if fault := _path_fault(text):
        return f"{fault}{hint}"
    if not _CAMPAIGN.fullmatch(text):
        return (
            "is not a campaign's name: at most 80 small letters, digits, dots, dashes and "
            f"underscores, a letter or digit first{hint}"
        )
    return None


def slugify(text: str) -> str:
    """Return `text` in letters, digits, dots, dashes and underscores; maybe nothing is left."""
    decomposed = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    ascii_only = decomposed.encode("ascii", "ignore").decode()
    dashed = re.sub(r"[^A-Za-z0-9._-]+", "-", ascii_only)
    return re.sub(r"\.{2,}", ".", dashed)[:80].strip("._-")


def fold(text: str) -> str:
    """Return the form in which two names are the same file on some system."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def content_id(operation: str, request: Mapping[str, Json]) -> str:
    """Return the id of a row that has none: from what it asks for, never from its position."""
    asked = request if operation == CREATE else {"operation": operation, "request": request}
    digest = hashlib.sha256(canonical_json(asked)).digest()
    return f"r_{base64.b32encode(digest).decode().lower()[:12]}"


def _path_fault(text: str) -> str | None:
    if ".." in text:
        return "holds two dots in a row, which is a way out of a folder"
    if text.endswith("."):
        return "ends in a dot, which some systems drop"
    if text.split(".")[0].casefold() in DEVICES:
        return "is the name of a device on Windows"
    return None


def _proposal(text: str) -> str:
    slug = slugify(text)
    if slug and slug.split(".")[0].casefold() in DEVICES:
        slug = f"row-{slug}"
    return f'; try "{slug}"' if slug and row_id_fault(slug) is None else ""


def template_problem(template: str, *, rows: int) -> str | None:
    """Return what is wrong with a name template for so many rows, or None.

    Row ids are different even after case-folding, so a name with `{row}` in it is a name for
    one row alone.
    """
    try:
        parts = [part for part in Formatter().parse(template) if part[1] is not None]
    except ValueError:
        return "has a brace without its partner"
    for _, name, spec, conversion in parts:
        if name not in _PLACEHOLDERS or spec or conversion:
            known = ", ".join(f"{{{one}}}" for one in _PLACEHOLDERS)
            return f"has a placeholder that is not one of {known}"
    if rows > 1 and not any(name == "row" for _, name, _, _ in parts):
        return f"gives {rows} rows the same name; put {{row}} into it"
    return None
