"""Owns film files after they are made: their fingerprint, a copy that is like no other, and
damage that a test asked for."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple


class Fingerprint(NamedTuple):
    """What tells one film from every other."""

    sha256: str
    bytes: int


def fingerprint(path: Path) -> Fingerprint:
    """Read a film and take its fingerprint."""
    with path.open("rb") as film:
        return Fingerprint(hashlib.file_digest(film, "sha256").hexdigest(), path.stat().st_size)


def copy_marked(source: Path, path: Path, mark: str) -> None:
    """Copy a film with a mark in it that players skip: the same pictures in a file of its own."""
    words = mark.encode()
    # A box that holds nothing: its length, the word `free`, and what is to be skipped.
    box = (8 + len(words)).to_bytes(4, "big") + b"free" + words
    path.write_bytes(source.read_bytes() + box)


def damage(path: Path) -> None:
    """Make a film unplayable and leave it as long as it was."""
    film = path.read_bytes()
    # The list of its frames: without it there is nothing a player could begin with.
    at = max(0, film.find(b"moov"))
    hole = min(512, len(film) - at)
    path.write_bytes(film[:at] + bytes(hole) + film[at + hole :])
