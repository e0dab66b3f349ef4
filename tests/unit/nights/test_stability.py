"""When a file in an inbox counts, and when it has changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from callsheet.tasks.ledger.inbox_sheets import SweptSheet
from callsheet.tasks.nights import locations

NOW = 10_000.0
FILE = locations.SheetFile(
    name="a.csv", address="/a.csv", version="1", bytes=9, changed_at=NOW, beside="x"
)
SEEN = SweptSheet(name="a.csv", version="1", seen_at=NOW - locations.STILL)


@pytest.mark.parametrize(
    ("file", "known", "whole"),
    [
        (FILE, None, False),
        (FILE, SEEN, True),
        (FILE, replace(SEEN, seen_at=NOW - locations.STILL / 2), False),
        (FILE, replace(SEEN, version="0"), False),
        (replace(FILE, changed_at=NOW - locations.OLD), None, True),
        (replace(FILE, bytes=0), SEEN, False),
        (replace(FILE, bytes=0, changed_at=NOW - locations.OLD), None, True),
        (replace(FILE, changed_at=None), None, True),
    ],
    ids=["new", "still", "too soon", "changing", "old", "empty", "empty for long", "object"],
)
def test_a_file_counts_once_it_stands_still(file: locations.SheetFile, known, *, whole):
    assert locations.is_whole(file, known, now=NOW) is whole


def test_what_lies_beside_counts_where_rows_may_point_to_it() -> None:
    dealt = locations.version_dealt(FILE, b"id,script\na,@a.txt\n")
    plain = locations.version_dealt(FILE, b"id,title\na,A\n")
    moved = replace(FILE, beside="y")
    assert locations.is_as_dealt(FILE, replace(SEEN, dealt_version=dealt))
    assert not locations.is_as_dealt(moved, replace(SEEN, dealt_version=dealt))
    assert locations.is_as_dealt(moved, replace(SEEN, dealt_version=plain))


FRESH, LATER, LONG_AGO = (round((NOW + s) * 1e9) for s in (-9, -8, -locations.OLD))


@pytest.mark.parametrize(
    ("file", "earlier", "moves"),
    [
        ((9, LONG_AGO), None, False),
        ((9, FRESH), None, True),
        ((9, FRESH), {}, True),
        ((9, FRESH), {"a.txt": (9, FRESH)}, False),
        ((9, LATER), {"a.txt": (9, FRESH)}, True),
        ((9, FRESH), {"a.txt": (8, FRESH)}, True),
    ],
)
def test_a_file_beside_counts_once_it_stands_still(file: tuple[int, int], earlier, *, moves):
    assert locations.moving({"a.txt": file}, earlier, now=NOW) == ({"a.txt"} if moves else set())


@pytest.mark.parametrize(
    ("content", "name", "points"),
    [
        (b"id,script\na,@a.txt\n", "a.txt", True),
        ("id,script\na,@a.txt\n".encode("utf-16"), "a.txt", True),
        (b"id,script\na,@b.txt\n", "a.txt", False),
        (b"id,script\na,a.txt is no file\n", "a.txt", False),
        (b"PK\x03\x04", "a.txt", True),
        # It may be written with an accent of its own, or in another code.
        (b"id,script\na,@cafe\xcc\x81.txt\n", "caf\u00e9.txt", True),
    ],
)
def test_a_sheet_points_to_what_it_names(content: bytes, name: str, *, points: bool) -> None:
    assert locations.points_to(content, name) is points


@pytest.mark.parametrize(
    "name",
    [".a.csv", "~$a.xlsx", "a.csv.part", "a.txt", "a.pdf", "a.csv.callsheet.json",
     "a.xlsx.report.csv"],
)  # fmt: skip
def test_what_is_hidden_half_or_ours_is_no_sheet(name: str) -> None:
    assert not locations.is_sheet(name)
    assert locations.is_sheet("a.CSV")
