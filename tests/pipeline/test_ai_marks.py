"""Whether a video's file says how it was made: recorded, told everywhere, required if asked."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import Desk, Sandbox

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
