"""Amends the files of a report: lines of rows that have not changed are taken over as they are.

Knows what the files look like, and neither the store nor the ledger. Where anything is not as it
should be the answer is no, and both files are made anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO

#: What stands in a manifest before its first row and after its last one.
_FIRST, _LAST = b'  "rows": [\n', b"  ]\n"
#: Where a row's own members begin: its name may hold no quote mark without a backslash before it.
_MORE = b', "'
_END = b"\r\n"


def amend_manifest(
    old: IO[bytes], out: IO[bytes], head: bytes, foot: bytes, lines: Mapping[str, bytes], rows: int
) -> dict[int, str] | None:
    """Copy a manifest of so many `rows` with new `lines`, by row; return their places,
    None where that is not so.

    `head` and `foot` are what stands before and after the rows.
    """
    if not any(line == _FIRST for line in iter(old.readline, b"")):
        return None
    wanted = {line[: line.find(_MORE)]: row for row, line in lines.items()}
    places: dict[int, str] = {}
    out.write(head)
    place = 0
    for place, line in enumerate(old):
        if line == _LAST:
            out.write(foot)
            break
        row = wanted.get(line[: line.find(_MORE)])
        if row is None:
            out.write(line)
            continue
        places[place] = row
        out.write(lines[row] + (b",\n" if line.endswith(b",\n") else b"\n"))
    return places if (place, len(places)) == (rows, len(lines)) else None


def amend_status(
    old: IO[bytes], out: IO[bytes], header: bytes | None, lines: Mapping[int, bytes], rows: int
) -> bool:
    """Copy a status sheet of so many `rows` with new `lines`, by their places; return whether so.

    `header` is what theirs would be (None: there are none): it has to be that of the sheet.
    """
    records = _records(old)
    there = next(records, b"")
    if header not in (None, there):
        return False
    out.write(there)
    count = 0
    for place, record in enumerate(records):
        out.write(lines.get(place, record))
        count += 1
    return count == rows


def _records(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a CSV, of which some may have line ends in their cells."""
    record = b""
    for line in file:
        record = record + line if record else line
        if record.endswith(_END) and not record.count(b'"') % 2:
            yield record
            record = b""
    if record:
        yield record
