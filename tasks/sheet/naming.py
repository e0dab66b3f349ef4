"""Checks at once that every row's film will have a name of its own."""

from __future__ import annotations

from string import Formatter

_PLACEHOLDERS = ("campaign", "row", "take")


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
