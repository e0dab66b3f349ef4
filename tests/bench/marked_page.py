"""A page of the documentation with two marks: what a program makes is put between them."""

from __future__ import annotations

from pathlib import Path


def put_between(page: Path, begin: str, end: str, made: str) -> None:
    """Replace what a page has between its two marks."""
    before, _, rest = page.read_text().partition(begin)
    _, found, after = rest.partition(end)
    assert found, f"{page} has no place between {begin} and {end}"
    page.write_text(f"{before}{begin}\n{made}{end}{after}")
