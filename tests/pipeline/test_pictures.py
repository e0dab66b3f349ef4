"""Pictures beside delivered videos, and what checks find; the mark of how a video was made."""

from __future__ import annotations

import csv
import json
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


def run(desk: Desk, name: str, rows: int = 2) -> list[Path]:
    """Deliver a campaign; return where the video of each row is."""
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(rows)))
    assert ended.status == 0, ended.err
    return [Path(row["deliveries"][0]["uri"]) for row in desk.rows(name).values()]


def beside(video: Path) -> dict[str, int]:
    """Return the pictures beside a video by the ends of their names, with their widths."""
    found = {}
    for path in sorted(video.parent.glob("*.jpg")):
        with Image.open(path) as picture:
            assert picture.format == "JPEG"
            found[path.name.removeprefix(video.stem)] = picture.width
    return found


def verify(desk: Desk, name: str, *words: str) -> dict:
    ended = desk.call("verify", name, "--json", *words)
    assert ended.status == 0, ended.err
    return ended.json


@pytest.mark.parametrize(
    ("wanted", "there"),
    # Ten pictures of a video of 9 by 16 are in a strip.
    [(None, {".jpg", ".strip.jpg"}), ("no", set()), ("poster", {".jpg"})],
)
def test_a_video_is_checked_and_delivered_with_the_pictures_that_are_wanted(
    desk: Desk, name: str, wanted: str | None, there: set[str]
) -> None:
    desk.environ |= {} if wanted is None else {"CALLSHEET_PICTURES": wanted}
    for video in run(desk, name):
        pictures = beside(video)
        assert set(pictures) == there
        assert pictures.get(".strip.jpg", 900) == 900
    for row in desk.rows(name).values():
        assert {**FINE, **WRONG}.items() <= row["checks"].items()
        # They are no deliveries, and nobody's files.
        assert [file["kind"] for file in row["deliveries"]] == ["mp4", "srt", "vtt"]
    audit = verify(desk, name)
    assert (audit["pictures"], audit["extra"]) == ({"missing": 0, "made": 0}, [])


def test_lost_and_damaged_pictures_are_nothing_wrong_and_made_again(desk: Desk, name: str) -> None:
    one, other = run(desk, name)
    pictures = {path: path.read_bytes() for path in other.parent.glob("*.jpg")}
    one.with_suffix(".jpg").unlink()
    one.with_suffix(".strip.jpg").write_bytes(b"")
    found = verify(desk, name)
    assert (found["pictures"], found["problems"]) == ({"missing": 1, "made": 0}, [])
    assert verify(desk, name, "--repair")["pictures"] == {"missing": 0, "made": 1}
    assert len(beside(one)) == 2
    assert {path: path.read_bytes() for path in other.parent.glob("*.jpg")} == pictures
    assert verify(desk, name)["pictures"] == {"missing": 0, "made": 0}


def test_a_picture_of_somebody_elses_is_left_alone(desk: Desk, name: str) -> None:
    theirs = desk.folder / "deliveries" / name / "r001" / "r001-take1.jpg"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(b"my own picture")
    (video,) = run(desk, name, rows=1)
    desk.call("verify", name, "--repair", "--json")
    assert theirs.read_bytes() == b"my own picture"
    assert video.with_suffix(".strip.jpg").exists()


@pytest.mark.merge
def test_a_video_is_held_for_what_a_setting_names_until_somebody_keeps_it(
    desk: Desk, name: str
) -> None:
    desk.environ["CALLSHEET_CHECKS"] = "black, length"
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    assert desk.run(sheet).status == 3
    held = desk.rows(name)
    for row in held.values():
        assert (row["state"], len(row["deliveries"])) == ("held", 3)
        assert WRONG["length"] in row["reason"]
        assert f"callsheet review {name} {row['row']} keep" in row["reason"]
    kept = desk.call("review", name, "r001", "keep", "--because", "length", "--json")
    assert kept.status == 0, kept.err
    # Run again, it looks again, and pays nothing.
    again = desk.run(sheet)
    assert (again.status, again.json["rows"]) == (3, {"total": 2, "delivered": 1, "held": 1})
    after = desk.rows(name)
    assert after["r001"]["state"] == "delivered"
    assert [row["charged"] for row in after.values()] == [row["charged"] for row in held.values()]
    # Whoever takes the check away has it delivered.
    desk.environ["CALLSHEET_CHECKS"] = ""
    assert desk.run(sheet).status == 0
    desk.environ["CALLSHEET_CHECKS"] = "black,blue"
    wrong = desk.run(sheet)
    assert wrong.status == 2
    assert "CALLSHEET_CHECKS" in wrong.err
    assert "frozen" in wrong.err


SHEET = """\
id,tool,fields.product,title,duration_seconds,video_model
a,product-launch,Kettle,With a mark,5,lumen-2
b,product-launch,Kettle,Without a mark,5,
"""
MADE = {"ai_generated": True, "ai_tool": "product-launch"}
TOLD = {
    "a": {**MADE, "ai_mark": "found", "ai_model": "lumen-2"},
    "b": {**MADE, "ai_mark": "none", "ai_model": None},
}
CELLS = {
    row: {**{name: value or "" for name, value in told.items()}, "ai_generated": "yes"}
    for row, told in TOLD.items()
}


@pytest.fixture
def delivered(desk: Desk, studio: Sandbox, name: str) -> str:
    """The sheet of a campaign whose first video has a manifest in it, and the other has none."""
    sheet = desk.sheet(f"{name}.csv", SHEET)
    studio.plan_fault(on="render", do="ai-mark")
    assert desk.run(sheet, "--select", "a").status == 0
    studio.clear_faults()
    assert desk.run(sheet).status == 0
    return sheet


def origins(lines: list[dict], begin: str = "") -> dict[str, dict]:
    """Return what rows, or a table, say of how videos were made."""
    return {line[f"{begin}row"]: {name: line[begin + name] for name in MADE | TOLD["a"]}
            for line in lines}  # fmt: skip


@pytest.mark.safeguard("tasks/engine/deliver.py", 'if "ai_mark" in at.settings.checks:', "if True:")
def test_every_document_tells_how_a_video_was_made(desk: Desk, name: str, delivered: str) -> None:
    rows = [*desk.rows(name).values()]
    assert origins(rows) == TOLD
    assert [row["checks"].get("ai_mark") for row in rows] == [None, None]
    folder = desk.folder / "deliveries" / name
    assert origins(json.loads((folder / "manifest.json").read_text())["rows"]) == TOLD
    status = (folder / "status.csv").read_text("utf-8-sig").splitlines()
    assert origins([*csv.DictReader(status)], "cs_") == CELLS
    for what in ("rows", "takes", "traffic"):
        exported = desk.call("export", name, "--what", what, "--format", "csv").out
        assert origins([*csv.DictReader(exported.splitlines())]) == CELLS, what
    # The bytes are stored as they came: the mark is in the file, and a lost ledger learns of it.
    mark = bytes.fromhex("d8fec3d61b0e483c92975828877ec481")
    assert mark in Path(rows[0]["deliveries"][0]["uri"]).read_bytes()
    paid = desk.run(delivered).json["credits"]["charged"]
    desk.lose_ledger()
    again = desk.run(delivered)
    assert (again.status, again.json["credits"]["charged"]) == (0, paid), again.err
    assert origins([*desk.rows(name).values()]) == TOLD


@pytest.mark.safeguard(
    "tasks/engine/deliver.py", 'if "ai_mark" in at.settings.checks:', "if False:"
)
@pytest.mark.merge
def test_a_mark_can_be_required(desk: Desk, studio: Sandbox, delivered: str) -> None:
    desk.environ["CALLSHEET_CHECKS"] = "ai_mark"
    assert desk.run(desk.sheet("required.csv", SHEET.replace("Kettle", "Cup"))).status == 3
    held = desk.rows("required")["b"]
    words = "the file has no C2PA manifest"
    assert (held["state"], held["checks"]["ai_mark"]) == ("held", words)
    assert words in held["reason"]
