"""Exports: safe for spreadsheets, exact for programs, and adding up to the account."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from decimal import Decimal

import openpyxl
import pytest
from pyarrow import parquet

from callsheet.tasks.aftercare.export import COLUMNS, export, format_of
from callsheet.tasks.ledger.decisions import give_up
from callsheet.tasks.ledger.ledger import Ledger
from tests.campaigns import Stage, brief

T0 = 1_750_000_000.0


async def exported(stage: Stage, what: str, format: str = "jsonl") -> list[dict]:
    out = io.BytesIO()
    campaign = await stage.account()
    count = await stage.ledger.read(export, campaign=campaign, out=out, what=what, format=format)
    lines = READ[format](out.getvalue())
    assert count == len(lines)
    if format == "csv":
        assert out.getvalue().decode().startswith("\ufeffcampaign,")
    return lines


def read_csv(data: bytes) -> list[dict]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def read_jsonl(data: bytes) -> list[dict]:
    return [json.loads(line) for line in data.splitlines()]


def read_xlsx(data: bytes) -> list[dict]:
    sheet = openpyxl.load_workbook(io.BytesIO(data)).active
    header, *lines = sheet.iter_rows()
    assert {cell.data_type for line in lines for cell in line} <= {"s", "inlineStr", "n", "d"}
    names = [cell.value for cell in header]
    return [dict(zip(names, (cell.value for cell in line), strict=True)) for line in lines]


def read_parquet(data: bytes) -> list[dict]:
    return parquet.read_table(io.BytesIO(data)).to_pylist()


READ = {"csv": read_csv, "jsonl": read_jsonl, "xlsx": read_xlsx, "parquet": read_parquet}


async def test_the_lines_of_programs_are_exact(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief(notes='=1, "b"\nc', tags=("=x", "y")))
    (line,) = await exported(stage, "rows")
    assert (line["state"], line["take"], line["key"], line["charged"]) == (
        "planned", None, None, None
    )  # fmt: skip
    assert await exported(stage, "takes") == []
    row = await stage.delivered()
    (line,) = await exported(stage, "rows")
    assert (line["notes"], line["tags"]) == ('=1, "b"\nc', ["=x", "y"])
    assert (line["key"], line["video_id"], line["charged"]) == (row.take.key, "vid_a", 12)
    assert (line["video"], line["bytes"]) == ("file:///video.mp4", 9)
    (take,) = await exported(stage, "takes")
    assert (take["present"], take["take"], take["quoted"]) == (True, 1, 12)
    assert [event["new"] for event in await exported(stage, "events") if event["new"]] == [
        "quoted", "approved", "submitting", "rendering", "ready", "delivered",
    ]  # fmt: skip
    (in_csv,) = await exported(stage, "rows", "csv")
    assert list(in_csv) == ["campaign", *COLUMNS["rows"]]
    assert (in_csv["notes"], in_csv["tags"], in_csv["row"]) == (
        "'=1, \"b\"\u21b5c", "'=x, y", "a"
    )  # fmt: skip


async def test_no_export_holds_a_secret(ledger: Ledger) -> None:
    secret = "https://x.example/a.png?X-Amz-Signature=5ecre7"
    stage = await Stage.set(ledger, brief(notes=f"see {secret} mav_5ecre7", topic=secret))
    await stage.moved(await stage.row(), "cancelled", f"by {secret}")
    for what in COLUMNS:
        assert "5ecre7" not in json.dumps(await exported(stage, what))


async def test_the_chargeback_adds_up_to_the_account(ledger: Ledger) -> None:
    centers = {"a": "north", "b": "south", "c": None, "d": "north", "e": "south"}
    tags = {"a": ("launch", "de"), "b": ("launch",)}
    briefs = (brief(row, cost_center=c, tags=tags.get(row, ())) for row, c in centers.items())
    stage = await Stage.set(ledger, *briefs, budget=1000)
    await stage.delivered("a")
    await stage.ready("b", charged=7)
    await stage.rendering("c", "3.25")
    await stage.failed("d")
    uncertain = await stage.in_state("uncertain", "e")
    given = {"charged": Decimal(5), "again": True, "at": T0}
    await stage.write(give_up, uncertain, uncertain.take, **given)
    await stage.rendering("e")

    lines = await exported(stage, "chargeback")

    account = await stage.account()
    of_center = [line for line in lines if line["by"] == "cost_center"]
    (whole,) = [line for line in lines if line["by"] == "campaign"]
    for name, booked in (("charged", account.charged), ("reserved", account.reserved)):
        assert sum(Decimal(str(line[name])) for line in of_center) == booked == whole[name]
    assert {one["name"]: one["charged"] for one in of_center} == {None: 0, "north": 24, "south": 12}
    assert (whole["takes"], whole["retakes"], whole["rows"]) == (6, 1, 5)
    of_tag = [line for line in lines if line["by"] == "tag"]
    assert {line["name"]: line["charged"] for line in of_tag} == {"launch": 19, "de": 12}
    assert all("several tags" in line["note"] for line in of_tag)


def as_in_json(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, datetime) else value


@pytest.mark.parametrize("what", COLUMNS)
async def test_every_format_says_the_same(ledger: Ledger, what: str) -> None:
    own = {"tags": ("x", "y"), "notes": "=1+1\x01", "cost_center": "north"}
    stage = await Stage.set(ledger, brief("a", **own), brief("b", "Coffee"))
    await stage.delivered("a")
    exact = await exported(stage, what, "jsonl")
    for typed, line in zip(await exported(stage, what, "parquet"), exact, strict=True):
        assert all(isinstance(typed[name], Decimal) for name in ("charged",) if typed.get(name))
        assert {name: as_in_json(value) for name, value in typed.items()} == line
    for cells, line in zip(await exported(stage, what, "xlsx"), exact, strict=True):
        assert list(cells) == list(line)
        for name, value in line.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                assert cells[name] == value
        if what == "rows" and line["row"] == "a":
            assert (cells["notes"], cells["tags"]) == ("'=1+1\ufffd", "x, y")
            since = datetime.fromisoformat(line["since"])
            assert cells["since"].replace(tzinfo=UTC) == since


@pytest.mark.parametrize(
    ("path", "format"),
    [(None, "csv"), ("-", "csv"), ("a.csv", "csv"), ("a.XLSX", "xlsx"), ("a.parquet", "parquet"),
     ("a.jsonl", "jsonl"), ("a.ndjson", "jsonl"), ("a.txt", "csv")],
)  # fmt: skip
def test_the_name_of_a_file_says_its_format(path: str | None, format: str) -> None:
    assert format_of(path) == format
