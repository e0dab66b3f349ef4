"""How many of what, for people: `1 row`, `2 rows`."""

from __future__ import annotations


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun, in the plural but for one; `nouns` where an s is not all."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"
