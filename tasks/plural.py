"""How many of what, for people: `1 row`, `2 rows`, `20 MiB`."""

from __future__ import annotations


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun, in the plural but for one; `nouns` where an s is not all."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def say_bytes(number: int) -> str:
    """Return a number of bytes: `20 MiB`."""
    for unit, size in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if number >= size:
            return f"{number / size:,.3g} {unit}"
    return f"{number} bytes"
