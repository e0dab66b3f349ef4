"""Where a sheet comes from: what tells it from another of the same name.

Reads no file and asks nobody.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from callsheet.tasks.brief import canonical_json
from callsheet.tasks.redact import unsigned


@dataclass(frozen=True, kw_only=True, slots=True)
class SheetOrigin:
    """A whole path or an address, without what signs it, and the worksheet of a workbook."""

    place: str
    worksheet: str | None = None

    @property
    def digest(self) -> str:
        """The sha256 (hex) by which it is found again."""
        return hashlib.sha256(canonical_json([self.place, self.worksheet])).hexdigest()

    def __str__(self) -> str:
        return self.place if self.worksheet is None else f"{self.place} ({self.worksheet})"


def origin_of(address: str | None, worksheet: str | None = None) -> SheetOrigin | None:
    """Return where a sheet comes from; None for standard input, which says nothing of that."""
    if address is None or address == "-":
        return None
    place = unsigned(address) if "://" in address else str(Path(address).expanduser().resolve())
    return SheetOrigin(place=place, worksheet=worksheet)
