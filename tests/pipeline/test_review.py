"""`callsheet review`: people keep and reject videos, and what they say is wherever it is needed."""

from __future__ import annotations

import csv
import json

import pytest

from tests.programs import Desk, simple_sheet

pytestmark = pytest.mark.merge


def said(desk: Desk, name: str) -> list[tuple[str | None, ...]]:
    of = ("review", "review_reason", "review_note")
    return [tuple(row[one] for one in of) for row in desk.rows(name).values()]


def test_what_people_say_of_videos_is_kept_shown_and_heeded(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(5))
    assert desk.run(sheet).status == 0
    kept = desk.call("review", name, "r001", "keep", "--by", "Ann", "--json")
    review = {"review": "keep", "review_reason": None, "review_note": None, "reviewed_by": "Ann"}
    rows = [{"row": "r001", "video_take": 1, **review}]
    assert kept.json == {"campaign": name, "rows": rows, "exit": 0}
    why = ("--because", "brand", "--note", "the logo is old")
    rejected = desk.call("review", name, "r002", "reject", *why, "--by", "Bob", "--take", "1")
    assert rejected.status == 0
    assert f"callsheet retake {name} r002" in rejected.out
    late = desk.call("review", name, "r001", "reject", "--json")
    assert (late.status, "kept by Ann" in late.json["error"]) == (4, True)
    assert "--instead-of keep" in late.err
    many = desk.call("review", name, "keep", "--select", "row:r001|r002|r003", "--json").json
    assert [many[word] for word in ("made", "same", "stood")] == [1, 1, 1]
    for verdict in ("keep", "undo"):
        assert desk.call("review", name, "r004", verdict).status == 0
    keep, nothing = ("keep", None, None), (None, None, None)
    assert said(desk, name) == [
        keep, ("reject", "brand", "the logo is old"), keep, nothing, nothing
    ]  # fmt: skip
    for review, rows in (
        ("kept", ["r001", "r003"]), ("rejected", ["r002"]), ("none", ["r004", "r005"]),
    ):  # fmt: skip
        listed = desk.call("rows", name, "--review", review, "--json").lines
        assert [line["row"] for line in listed] == rows
    assert "rejected" in desk.call("explain", name, "r002").out
    # Others are taken again with what was said of them; what is kept stays.
    told = desk.call("retake", name, "--select", "*", "--yes", "--json")
    by_row = {line["row"]: line for line in told.json["rows"]}
    assert [line["to"] for line in by_row.values()] == [
        "delivered", "approved", "delivered", "approved", "approved"
    ]  # fmt: skip
    assert by_row["r002"]["words"] == "rejected by Bob: brand: the logo is old"
    assert by_row["r002"]["review_note"] == "the logo is old"
    assert "--even-kept" in by_row["r001"]["words"]
    named = desk.call("retake", name, "r001", "--yes")
    assert (named.status, "its video is kept" in named.err) == (2, True)
    bulk = desk.call("retake", name, "--select", "row:r001", "--even-kept", "--yes")
    assert bulk.status == 2
    even = desk.call("retake", name, "r001", "--even-kept", "--yes", "--json")
    assert even.json["rows"][0]["to"] == "approved"
    # The report has it, too: what was said of a video, until there is a newer one.
    assert desk.run(sheet).json["rows"] == {"total": 5, "delivered": 5}
    assert said(desk, name)[::2] == [nothing, keep, nothing]
    folder = desk.folder / "deliveries" / name
    manifest = json.loads((folder / "manifest.json").read_text())
    assert {row["row"]: row["review"] for row in manifest["rows"]}["r003"] == "keep"
    status = csv.DictReader((folder / "status.csv").read_text("utf-8-sig").splitlines())
    assert {line["cs_row"]: line["cs_review"] for line in status}["r003"] == "keep"
    takes = desk.call("export", name, "--what", "takes", "--format", "jsonl").lines
    reviews = [line["review"] for line in takes if line["row"] in ("r001", "r002")]
    assert reviews == ["keep", None, "reject", None]
    assert desk.run(sheet).json["credits"]["charged"] == 9 * 15


REFUSED = {
    "no verdict": ("r001",),
    "no row": ("keep",),
    "another word": ("r001", "approve"),
    "no such row": ("r009", "keep"),
    "no such take": ("r001", "keep", "--take", "2"),
    "a row without a video": ("bad", "keep"),
    "undo of many": ("r001", "r002", "undo"),
    "a long reason": ("r001", "reject", "--because", "x" * 41),
}


def test_what_is_no_decision_changes_nothing(desk: Desk, name: str) -> None:
    text = simple_sheet(2) + "bad,product-launch,Kettle,Bad,5000,9:16\n"
    desk.run(desk.sheet(f"{name}.csv", text))
    for case, words in REFUSED.items():
        told = desk.call("review", name, *words)
        assert told.status == 2, (case, told.err)
    assert set(said(desk, name)) == {(None, None, None)}
    assert desk.call("review", name, "r001", "undo").status == 0
    assert desk.call("review", "r1", "keep", "--json").status == 2
