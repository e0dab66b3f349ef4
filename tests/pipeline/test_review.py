"""`callsheet review`: people keep and reject videos, and what they say is wherever it is needed."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.programs import Desk, Finished, simple_sheet


def said(desk: Desk, name: str) -> dict[str, tuple[str | None, str | None, str | None]]:
    rows = desk.rows(name).items()
    return {row: (of["review"], of["review_reason"], of["review_note"]) for row, of in rows}


def listed(told: Finished) -> list[str]:
    return [line["row"] for line in told.lines]


@pytest.mark.merge
def test_what_people_say_of_videos_is_kept_shown_and_heeded(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(5))
    assert desk.run(sheet).status == 0

    kept = desk.call("review", name, "r001", "keep", "--by", "Ann", "--json")
    assert (kept.status, kept.json) == (
        0,
        {
            "campaign": name,
            "rows": [
                {
                    "row": "r001", "video_take": 1, "review": "keep", "review_reason": None,
                    "review_note": None, "reviewed_by": "Ann",
                }
            ],
            "exit": 0,
        },
    )  # fmt: skip
    why = ("--because", "brand", "--note", "the logo is old")
    rejected = desk.call("review", name, "r002", "reject", *why, "--by", "Bob", "--take", "1")
    assert (rejected.status, rejected.out) == (0, rejected.out)
    assert f"callsheet retake {name} r002" in rejected.out
    late = desk.call("review", name, "r001", "reject", "--json")
    assert late.status == 4
    assert "kept by Ann" in late.json["error"]
    assert "--instead-of keep" in late.err
    many = desk.call("review", name, "keep", "--select", "row:r001|r002|r003", "--json").json
    assert {word: many[word] for word in ("made", "same", "stood")} == {
        "made": 1, "same": 1, "stood": 1,
    }  # fmt: skip
    assert desk.call("review", name, "r004", "keep").status == 0
    assert desk.call("review", name, "r004", "undo").status == 0
    assert said(desk, name) == {
        "r001": ("keep", None, None),
        "r002": ("reject", "brand", "the logo is old"),
        "r003": ("keep", None, None),
        "r004": (None, None, None),
        "r005": (None, None, None),
    }
    for review, rows in (
        ("kept", ["r001", "r003"]), ("rejected", ["r002"]), ("none", ["r004", "r005"]),
    ):  # fmt: skip
        assert listed(desk.call("rows", name, "--review", review, "--json")) == rows
    assert "rejected" in desk.call("explain", name, "r002").out

    # Others are taken again with what was said of them; what is kept stays.
    told = desk.call("retake", name, "--select", "*", "--yes", "--json")
    assert told.status == 0, told.err
    by_row = {line["row"]: line for line in told.json["rows"]}
    assert {row: line["to"] for row, line in by_row.items()} == {
        "r001": "delivered", "r002": "approved", "r003": "delivered", "r004": "approved",
        "r005": "approved",
    }  # fmt: skip
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
    ended = desk.run(sheet)
    assert ended.json["rows"] == {"total": 5, "delivered": 5}
    assert said(desk, name)["r001"] == (None, None, None)
    assert said(desk, name)["r003"] == ("keep", None, None)
    folder = Path(desk.rows(name)["r003"]["deliveries"][0]["uri"]).parent
    while not (folder / "manifest.json").exists():
        folder = folder.parent
    manifest = json.loads((folder / "manifest.json").read_text())
    assert {row["row"]: row["review"] for row in manifest["rows"]}["r003"] == "keep"
    with (folder / "status.csv").open(encoding="utf-8-sig", newline="") as file:
        lines = {line["cs_row"]: line for line in csv.DictReader(file)}
    assert lines["r003"]["cs_review"] == "keep"
    takes = desk.call("export", name, "--what", "takes", "--format", "jsonl").lines
    assert [line["review"] for line in takes if line["row"] in ("r001", "r002")] == [
        "keep", None, "reject", None,
    ]  # fmt: skip
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


@pytest.mark.merge
def test_what_is_no_decision_changes_nothing(desk: Desk, name: str) -> None:
    text = simple_sheet(2) + "bad,product-launch,Kettle,Bad,5000,9:16\n"
    desk.run(desk.sheet(f"{name}.csv", text))
    for case, words in REFUSED.items():
        told = desk.call("review", name, *words)
        assert told.status == 2, (case, told.err)
    assert set(said(desk, name).values()) == {(None, None, None)}
    assert desk.call("review", name, "r001", "undo").status == 0


@pytest.mark.parametrize("words", [("review", "keep"), ("review", "r1", "keep", "--json")])
def test_without_a_ledger_it_says_so(desk: Desk, words: tuple[str, ...]) -> None:
    assert desk.call(*words).status == 2
