"""Pictures next to delivered videos, and what checks find, by real runs against the sandbox."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from tests.programs import Desk, Sandbox, simple_sheet

#: The sandbox's videos are a second long here, whatever is asked for.
WRONG = {
    "length": "it is 1 s long, 5 s were asked for",
    "captions": "cue 1 of the captions ends at 1.6 s, the video at 1 s",
}


FINE = {"black": "ok", "frozen": "ok", "silence": "ok"}


def run(desk: Desk, name: str, rows: int = 2) -> dict[str, Path]:
    """Deliver a campaign; return where the video of each row is."""
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(rows)))
    assert ended.status == 0, ended.err
    return {
        row["row"]: Path(file["uri"])
        for row in desk.rows(name).values()
        for file in row["deliveries"]
        if file["kind"] == "mp4"
    }


def beside(video: Path) -> dict[str, tuple[str | None, int]]:
    """Return the pictures beside a video: their format, and width by height."""
    found = {}
    for path in sorted(video.parent.glob("*.jpg")):
        with Image.open(path) as picture:
            found[path.name.removeprefix(video.stem)] = (picture.format, picture.width)
    return found


def known(desk: Desk, name: str) -> list[tuple[dict, int | None, dict]]:
    """Return what the ledger has of each video: its checks, how many are wrong, its pictures."""
    with sqlite3.connect(desk.folder / ".callsheet" / "ledger.db") as ledger:
        query = (
            "select checks, flagged, pictures from takes t join rows r on r.id = t.row_id "
            "join campaigns c on c.id = r.campaign_id where c.name = ? order by r.position"
        )
        return [
            (json.loads(checks or "{}"), flagged, json.loads(pictures or "{}"))
            for checks, flagged, pictures in ledger.execute(query, [name])
        ]


@pytest.mark.merge
def test_a_video_is_delivered_with_a_poster_and_a_strip_and_checked(desk: Desk, name: str) -> None:
    videos = run(desk, name)
    for video in videos.values():
        pictures = beside(video)
        assert set(pictures) == {".jpg", ".strip.jpg"}
        assert {format for format, _ in pictures.values()} == {"JPEG"}
        # Ten pictures of a video of 9 by 16.
        assert pictures[".strip.jpg"][1] == 900
    for (checks, flagged, pictures), video in zip(known(desk, name), videos.values(), strict=True):
        assert checks == {**FINE, **WRONG}
        assert flagged == 2
        assert pictures["poster"]["uri"] == str(video.with_suffix(".jpg"))
        for picture in pictures.values():
            assert Path(picture["uri"]).stat().st_size == picture["bytes"]
    # They are no deliveries, and nobody's files.
    assert {file["kind"] for row in desk.rows(name).values() for file in row["deliveries"]} == {
        "mp4", "srt", "vtt"
    }  # fmt: skip
    audit = desk.call("verify", name, "--json").json
    assert audit["pictures"] == {"missing": 0, "made": 0}
    assert audit["extra"] == []


@pytest.mark.parametrize(
    ("wanted", "there"),
    [("no", set()), ("poster", {".jpg"})],
)
def test_fewer_pictures_may_be_asked_for(
    desk: Desk, name: str, wanted: str, there: set[str]
) -> None:
    desk = replace(desk, environ={**desk.environ, "CALLSHEET_PICTURES": wanted})
    (video,) = run(desk, name, rows=1).values()
    assert set(beside(video)) == there
    ((checks, _, pictures),) = known(desk, name)
    assert checks == {**FINE, **WRONG}
    assert "strip" not in pictures
    assert desk.call("verify", name, "--json").json["pictures"]["missing"] == 0


def test_lost_and_damaged_pictures_are_nothing_wrong_and_made_again(desk: Desk, name: str) -> None:
    one, other = run(desk, name).values()
    pictures = {path: path.read_bytes() for path in other.parent.glob("*.jpg")}
    one.with_suffix(".jpg").unlink()
    one.with_suffix(".strip.jpg").write_bytes(b"")
    found = desk.call("verify", name, "--json")
    assert found.status == 0, found.err
    assert found.json["pictures"] == {"missing": 1, "made": 0}
    assert found.json["problems"] == []
    mended = desk.call("verify", name, "--repair", "--json")
    assert (mended.status, mended.json["pictures"]) == (0, {"missing": 0, "made": 1})
    assert {format for format, _ in beside(one).values()} == {"JPEG"}
    assert {path: path.read_bytes() for path in other.parent.glob("*.jpg")} == pictures
    assert desk.call("verify", name, "--json").json["pictures"] == {"missing": 0, "made": 0}


def test_a_picture_of_somebody_elses_is_left_alone(desk: Desk, name: str) -> None:
    theirs = desk.folder / "deliveries" / name / "r001" / "r001-take1.jpg"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(b"my own picture")
    run(desk, name, rows=1)
    assert theirs.read_bytes() == b"my own picture"
    ((_, _, pictures),) = known(desk, name)
    assert set(pictures) == {"strip"}
    desk.call("verify", name, "--repair", "--json")
    assert theirs.read_bytes() == b"my own picture"


@pytest.mark.merge
def test_a_video_is_held_for_what_a_setting_names_until_somebody_keeps_it(
    desk: Desk, name: str
) -> None:
    desk = replace(desk, environ={**desk.environ, "CALLSHEET_CHECKS": "black, length"})
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    assert desk.run(sheet).status == 3
    held = desk.rows(name)
    for row in held.values():
        assert row["state"] == "held"
        assert WRONG["length"] in row["reason"]
        assert f"callsheet review {name} {row['row']} keep" in row["reason"]
        assert len(row["deliveries"]) == 3
    kept = desk.call("review", name, "r001", "keep", "--because", "length", "--json")
    assert kept.status == 0, kept.err
    # Run again, it looks again, and pays nothing.
    again = desk.run(sheet)
    assert (again.status, again.json["rows"]) == (3, {"total": 2, "delivered": 1, "held": 1})
    after = desk.rows(name)
    assert after["r001"]["state"] == "delivered"
    assert [row["charged"] for row in after.values()] == [row["charged"] for row in held.values()]
    # Whoever takes the check away has it delivered.
    desk = replace(desk, environ={**desk.environ, "CALLSHEET_CHECKS": ""})
    assert desk.run(sheet).status == 0


def test_what_the_setting_names_has_to_be_a_check(desk: Desk, name: str) -> None:
    desk = replace(desk, environ={**desk.environ, "CALLSHEET_CHECKS": "black,blue"})
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(1)))
    assert ended.status == 2
    assert "CALLSHEET_CHECKS" in ended.err
    assert "frozen" in ended.err


SHEET = """\
id,tool,fields.product,title,duration_seconds,video_model
a,product-launch,Kettle,With a mark,5,lumen-2
b,product-launch,Kettle,Without a mark,5,
"""


TOLD = {
    "a": {"ai_generated": True, "ai_mark": "found", "ai_model": "lumen-2"},
    "b": {"ai_generated": True, "ai_mark": "none", "ai_model": None},
}


TOLD = {row: {**told, "ai_tool": "product-launch"} for row, told in TOLD.items()}


CELLS = {
    row: {name: value or "" for name, value in told.items()} | {"ai_generated": "yes"}
    for row, told in TOLD.items()
}


@pytest.fixture
def delivered(desk: Desk, studio: Sandbox, name: str) -> Iterator[str]:
    """The sheet of a campaign whose first video has a manifest in it, and the other has none."""
    desk.environ |= studio.environ
    sheet = desk.sheet(f"{name}.csv", SHEET)
    studio.plan_fault(on="render", do="ai-mark")
    assert desk.run(sheet, "--select", "a").status == 0
    studio.clear_faults()
    assert desk.run(sheet).status == 0
    yield sheet
    studio.clear_faults()


def origins(rows: dict) -> dict[str, dict]:
    return {row: {name: line[name] for name in TOLD["a"]} for row, line in rows.items()}


def cells(text: str, begin: str = "") -> dict[str, dict[str, str]]:
    """Return what a table says of how videos were made, by row."""
    return {
        line[f"{begin}row"]: {name: line[begin + name] for name in TOLD["a"]}
        for line in csv.DictReader(io.StringIO(text))
    }


def test_every_document_tells_how_a_video_was_made(desk: Desk, name: str, delivered: str) -> None:
    rows = desk.rows(name)
    assert origins(rows) == TOLD
    assert [rows[row]["checks"].get("ai_mark") for row in "ab"] == [None, None]
    folder = desk.folder / "deliveries" / name
    manifest = json.loads((folder / "manifest.json").read_text())
    assert origins({line["row"]: line for line in manifest["rows"]}) == TOLD
    assert cells((folder / "status.csv").read_text("utf-8-sig"), "cs_") == CELLS
    for what in ("rows", "takes", "traffic"):
        exported = desk.call("export", name, "--what", what, "--format", "csv")
        assert cells(exported.out) == CELLS, what

    # The bytes are stored as they came: the mark is in the file, and a lost ledger learns of it.
    file = Path(rows["a"]["deliveries"][0]["uri"])
    assert bytes.fromhex("d8fec3d61b0e483c92975828877ec481") in file.read_bytes()
    paid = desk.run(delivered).json["credits"]["charged"]
    (desk.folder / ".callsheet" / "ledger.db").unlink()
    again = desk.run(delivered)
    assert (again.status, again.json["credits"]["charged"]) == (0, paid), again.err
    assert origins(desk.rows(name)) == TOLD


@pytest.mark.merge
def test_a_mark_can_be_required(desk: Desk, studio: Sandbox, name: str, delivered: str) -> None:
    desk.environ |= {"CALLSHEET_CHECKS": "ai_mark"}
    sheet = desk.sheet("required.csv", SHEET.replace("Kettle", "Cup"))

    assert desk.run(sheet).status == 3

    held = desk.rows("required")["b"]
    words = "the file has no C2PA manifest"
    assert (held["state"], held["checks"]["ai_mark"]) == ("held", words)
    assert words in held["reason"]
