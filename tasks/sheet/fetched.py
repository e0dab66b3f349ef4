"""What comes of fetching a sheet: its bytes, or a sentence that says why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from callsheet.tasks.errors import Problem, SheetError
from callsheet.tasks.plural import say_bytes
from callsheet.tasks.sheet.limits import MAX_BYTES


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """A sheet's bytes, what to call it, and the folder it lies in if it is a local file."""

    content: bytes
    name: str
    folder: Path | None = None


def refused(name: str, message: str) -> SheetError:
    """Return the error for a sheet that could not be had."""
    return SheetError([Problem(file=name, message=message)])


def too_large(name: str) -> SheetError:
    """Return the error for a sheet that is larger than any campaign."""
    return refused(name, f"is larger than {say_bytes(MAX_BYTES)}, the limit for a sheet: split it")
