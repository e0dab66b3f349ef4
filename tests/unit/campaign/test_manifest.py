"""The manifest: read whatever was done to it, member by member; odd ones cost nothing of others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callsheet.tasks.campaign.manifest import read_manifest, reviews_of_line

FILE = {"kind": "mp4", "uri": "s3://videos/a.mp4", "sha256": "ab", "bytes": 9}
ROW: dict[str, Any] = {
    "row": "a", "state": "delivered", "reason": None, "take": 1, "key": "cs1_a",
    "video_id": "vid_a", "quoted": 15, "reserved": 0, "charged": 12.5, "paid_before": 0,
    "variance": -2.5, "video_take": 1, "deliveries": [FILE], "review": "reject",
    "review_reason": "voice", "review_note": None, "reviewed_by": "Ann", "checks": {"black": "ok"},
    "operation": "create", "digest": "d", "nth": 1, "first_id": "b", "deleted_at": 1800000001.5,
    "deleted_by": "Ann", "take_quoted": 15, "sent_at": 1800000000.5, "to_be_sent": False,
    "next_digest": None, "next_nth": None, "earlier": None,
}  # fmt: skip
MANIFEST: dict[str, Any] = {
    "format": 1,
    "campaign": "spring",
    "sandbox": False,
    "sheet": {"address": "spring.csv", "sha256": "e"},
    "made_at": "2026-11-22T04:00:00+00:00",
    "last_event": {"id": 7, "at": 1800000000.5},
    "counts": {"total": 1, "delivered": 1},
    "rows": [ROW],
}


def as_file(**changes: Any) -> bytes:
    return json.dumps({**MANIFEST, **changes}).encode()


def lines_of(content: bytes) -> list[dict[str, Any]]:
    found = read_manifest(content)
    assert found is not None
    return [dict(line) for line in found.lines()]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_manifest_is_read_however_it_is_laid_out(indent: int | None):
    found = read_manifest(json.dumps(MANIFEST, indent=indent).encode())

    assert (found.campaign, found.sandbox) == ("spring", False)
    assert (found.made_at, found.last_event) == (1795320000.0, (7, 1800000000.5))
    assert [*found.lines()] == [ROW]


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe", as_file(rows=None), as_file(rows={"a": ROW}),
        as_file(campaign=None), as_file(campaign=7),
        as_file()[:-1], as_file()[:-9], as_file() + b"}", as_file().replace(b", ", b" "),
        as_file().replace(b"]", b",]"), as_file().replace(b":", b" ", 1),
        as_file().replace(b"7", b"[" * 10**5, 1),
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_none(content: bytes):
    assert read_manifest(content) is None


@pytest.mark.parametrize(
    ("member", "odd"),
    [
        ("state", 4), ("take", "1"), ("take", True), ("key", 1), ("video_id", {}), ("nth", 1.5),
        ("charged", "much"), ("quoted", []), ("deliveries", [{**FILE, "bytes": "9"}]),
        ("deliveries", "none"), ("operation", None), ("digest", 3), ("sent_at", "yesterday"),
        ("to_be_sent", "perhaps"), ("checks", {"length": 1}), ("deliveries", [7]),
        ("earlier", [{"digest": "d", "nth": 1}]),
        ("earlier", [{"digest": "d", "nth": 1, "sent_at": 1, "line": 2}]),
    ],
)  # fmt: skip
def test_an_odd_member_is_missing_and_the_others_are_read(member: str, odd: Any):
    assert lines_of(as_file(rows=[{**ROW, member: odd}])) == [{**ROW, member: None}]


@pytest.mark.parametrize("odd", [None, 7, "a", {}, {"row": 1}, {"state": "delivered"}])
def test_a_row_that_is_none_leaves_the_others(odd: Any):
    assert lines_of(as_file(rows=[odd, ROW])) == [ROW]


def test_what_either_side_said_is_read_back() -> None:
    line = {
        "take": 1, "video_take": 1, "review": "keep", "review_reason": None, "review_note": None,
        "reviewed_by": "Rita", "client_review": "reject", "client_reason": "brand",
        "client_note": "0:01 the old logo", "client_by": "Mia (link 1)",
    }  # fmt: skip
    found = reviews_of_line(line, 5.0)
    assert found["team"].words == "kept by Rita"
    assert found["client"].words == "rejected by Mia (link 1): brand: 0:01 the old logo"
    # Of an earlier release, or edited by hand.
    assert list(reviews_of_line({**line, "client_review": 7}, 5.0)) == ["team"]
    assert reviews_of_line({**line, "video_take": None}, 5.0) == {}
