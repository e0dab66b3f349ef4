"""Which sheets of an inbox are whole, and which have changed. Pure: versions and moments in."""

from __future__ import annotations

from collections.abc import Mapping

from callsheet.tasks.ledger.inbox_sheets import SweptSheet
from callsheet.tasks.nights.places import SheetFile

#: A file counts once size and time stand still between two looks so far apart, in seconds.
STILL = 3.0
#: One that was not written to for so long counts at once, in seconds; an empty one only then.
OLD = 60.0


def is_whole(
    entry: SheetFile, known: SweptSheet | None, *, now: float, still: float = STILL
) -> bool:
    """Whether a sheet is no longer written to; an object is whole as soon as it is there."""
    if entry.changed_at is None:
        return True
    old = entry.changed_at <= now - OLD
    if entry.bytes == 0 and not old:
        # Programs that fetch files from elsewhere make them empty first.
        return False
    seen = known is not None and known.version == entry.version and known.seen_at <= now - still
    return old or seen


def moving(
    files: Mapping[str, tuple[int, int]],
    earlier: Mapping[str, tuple[int, int]] | None,
    *,
    now: float,
) -> frozenset[str]:
    """Return which files beside the sheets may still be written to, by name.

    `files` is how they are (`SheetFile.files`), `earlier` how they were at a look before, if any.
    """
    fresh = {name: file for name, file in files.items() if file[1] / 1e9 > now - OLD}
    return frozenset(name for name in fresh if earlier is None or earlier.get(name) != fresh[name])


def points_to(content: bytes, name: str) -> bool:
    """Whether a row of a sheet may point to a file beside it (`@script.txt`)."""
    if content.startswith(b"PK") or not name.isascii():
        # What is packed, or written in one of several ways, is not looked for.
        return content.startswith(b"PK") or b"@" in content
    return b"@" in content and any(
        name.encode(code) in content for code in ("utf-8", "utf-16-le", "utf-16-be")
    )


def is_as_dealt(entry: SheetFile, known: SweptSheet) -> bool:
    """Whether a sheet is as it was when a night last dealt with it, and what it points to."""
    return known.dealt_version in (entry.version, f"{entry.version} {entry.beside}")


def version_dealt(entry: SheetFile, content: bytes) -> str:
    """Return by what a sheet is known later that is dealt with now.

    Where a row may point to a file beside the sheet (`@script.txt`), those files count as well.
    """
    points = b"@" in content or content.startswith(b"PK")
    return f"{entry.version} {entry.beside}" if points and entry.beside else entry.version
