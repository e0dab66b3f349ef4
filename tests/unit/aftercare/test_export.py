"""Exports: safe for spreadsheets, exact for programs, and adding up to the account."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import openpyxl
import pytest
from pyarrow import parquet

from callsheet.tasks.aftercare.export import COLUMNS, FORMATS, export, format_of
from callsheet.tasks.ledger.decisions import approve_retakes, give_up
from callsheet.tasks.ledger.deliveries import deliver
from callsheet.tasks.ledger.figures import PAGE
from callsheet.tasks.ledger.gauges import keep_rates
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import Quoted
from callsheet.tasks.ledger.reviews import review
from callsheet.tasks.ledger.takes import accept, settle
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.files import whole_file
from callsheet.tasks.values.briefs import Brief
from tests.campaigns import NOW, VIDEO, Stage, brief
from tests.programs import CALLSHEET, Desk

T0 = 1_750_000_000.0


async def exported(stage: Stage, what: str, format: str = "jsonl") -> list[dict]:
    out = io.BytesIO()
    campaign = await stage.account()
    count = await stage.ledger.read(export, campaign=campaign, out=out, what=what, format=format)
    lines = READ[format](out.getvalue())
    assert count == len(lines)
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


async def test_a_csv_begins_with_a_mark_and_survives_commas_and_lines(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief(notes='a, "b"\nc', tags=("x", "y")))
    out = io.BytesIO()
    await ledger.read(export, campaign=stage.campaign, out=out, what="rows", format="csv")
    assert out.getvalue().decode().startswith("\ufeffcampaign,row,line,state,")
    (line,) = await exported(stage, "rows", "csv")
    assert list(line) == ["campaign", *COLUMNS["rows"]]
    assert (line["notes"], line["tags"], line["enabled"]) == ('a, "b"\u21b5c', "x, y", "yes")


async def test_the_lines_of_programs_are_exact(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief(notes="=1+1", tags=("=x",)))
    row = await stage.delivered()
    (line,) = await exported(stage, "rows")
    assert (line["notes"], line["tags"]) == ("=1+1", ["=x"])
    assert (line["key"], line["video_id"], line["charged"]) == (row.take.key, "vid_a", 12)
    assert (line["video"], line["bytes"]) == ("file:///video.mp4", 9)
    (take,) = await exported(stage, "takes")
    assert (take["present"], take["take"], take["quoted"]) == (True, 1, 12)
    assert [event["new"] for event in await exported(stage, "events") if event["new"]] == [
        "quoted", "approved", "submitting", "rendering", "ready", "delivered",
    ]  # fmt: skip
    (in_csv,) = await exported(stage, "rows", "csv")
    assert (in_csv["notes"], in_csv["tags"], in_csv["row"]) == ("'=1+1", "'=x", "a")


@pytest.mark.parametrize("words", [["export", "spring"], ["rows", "spring", "--json"]])
async def test_a_reader_who_leaves_hears_nothing_more(
    ledger: Ledger, made_address: str, tmp_path: Path, words: list[str]
) -> None:
    # More than the ledger reads at once.
    await Stage.set(ledger, *(brief(f"r{n}", topic=f"Tea {n}") for n in range(PAGE + 100)))
    desk = Desk(tmp_path, {"CALLSHEET_LEDGER": made_address})
    assert await asyncio.to_thread(left_alone, desk, words) == (0, "")


def left_alone(desk: Desk, words: list[str]) -> tuple[int, str]:
    """How a command ends, and what it says, whose output nobody reads."""
    given = {"cwd": desk.folder, "env": desk.environment(), "text": True}
    pipe = subprocess.PIPE
    with subprocess.Popen([*CALLSHEET, *words], **given, stdout=pipe, stderr=pipe) as process:
        process.stdout.close()
        err = process.stderr.read()
        return process.wait(60), err


async def test_a_row_without_a_take_is_exported_too(stage: Stage) -> None:
    (line,) = await exported(stage, "rows")
    assert (line["state"], line["take"], line["key"], line["charged"]) == (
        "planned", None, None, None,
    )  # fmt: skip
    assert await exported(stage, "takes") == []


async def test_no_export_holds_a_secret(ledger: Ledger) -> None:
    secret = "https://x.example/a.png?X-Amz-Signature=5ecre7"
    stage = await Stage.set(ledger, brief(notes=f"see {secret} mav_5ecre7", topic=secret))
    await stage.moved(await stage.row(), "cancelled", f"by {secret}")
    for what in COLUMNS:
        assert "5ecre7" not in json.dumps(await exported(stage, what))


async def test_the_chargeback_adds_up_to_the_account(ledger: Ledger) -> None:
    briefs = (
        brief("a", cost_center="north", tags=("launch", "de")),
        brief("b", cost_center="south", tags=("launch",)),
        brief("c", tags=()),
        brief("d", cost_center="north"),
        brief("e", cost_center="south"),
    )
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
    centres = [line for line in lines if line["by"] == "cost_center"]
    (whole,) = [line for line in lines if line["by"] == "campaign"]
    for name, booked in (("charged", account.charged), ("reserved", account.reserved)):
        assert sum(Decimal(str(line[name])) for line in centres) == booked == whole[name]
    assert {line["name"]: line["charged"] for line in centres} == {
        None: 0, "north": 24, "south": 12,
    }  # fmt: skip
    assert (whole["takes"], whole["retakes"], whole["rows"]) == (6, 1, 5)
    tags = {line["name"]: line["charged"] for line in lines if line["by"] == "tag"}
    assert tags == {"launch": 19, "de": 12}
    assert all("several tags" in line["note"] for line in lines if line["by"] == "tag")


async def priced(ledger: Ledger) -> Stage:
    """Videos of two tools in two months: made, failed, charged differently, and still under way."""

    def video(row: str, tool: str | None, ratio: str = "9:16", **own: object) -> Brief:
        asked = {"topic": f"Tea {row}", "aspect_ratio": ratio, "language": "de"}
        return Brief(row=row, request={**asked, **({"tool": tool} if tool else {})}, **own)

    stage = await Stage.set(
        ledger,
        video("a", "explainer"),
        video("b", "explainer"),
        video("c", "explainer", "1:1"),
        video("d", None),
        video("e", None),
        budget=1000,
    )
    # Accepted at 100, seen ready at 460: six minutes; delivered with 90 seconds of video.
    for row, charged in (("a", "7.1"), ("c", "0.2"), ("d", None)):
        sent = await stage.submitting(row)
        await stage.write(accept, sent, sent.take, video_id=f"vid_{row}", at=NOW + 100)
        sent = await stage.row(row)
        amount = None if charged is None else Decimal(charged)
        await stage.write(settle, sent, sent.take, new="ready", charged=amount, at=NOW + 460)
        ready = await stage.row(row)
        file = replace(VIDEO, seconds=90.0)
        await stage.write(deliver, ready, ready.take, files=[file], at=NOW + 500)
    for row, verdict in (("a", "keep"), ("d", "reject")):
        take = (await stage.row(row)).take
        await stage.write(review, take.id, verdict, note="=1+1", by="Ann", at=NOW)
    # Charged and failed after 200 s: paid, and no video of it.
    sent = await stage.rendering("b")
    await stage.write(settle, sent, sent.take, new="failed", charged=Decimal("0.2"), at=NOW + 200)
    # Under way in another month: set aside, not paid.
    await stage.open(await stage.approve("e"), at=NOW + 40 * 86400)
    return stage


@pytest.mark.merge
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("what", ["rows", "takes"])
async def test_what_people_said_of_videos_is_exported(
    ledger: Ledger, format: str, what: str
) -> None:
    lines = {line["row"]: line for line in await exported(await priced(ledger), what, format)}
    said = {row: line["review"] or None for row, line in lines.items()}
    assert said == {"a": "keep", "b": None, "c": None, "d": "reject", "e": None}
    line = lines["d"]
    # A spreadsheet takes no note for a formula.
    assert line["review_note"].removeprefix("'") == "=1+1"
    assert line["reviewed_by"] == "Ann"
    if format == "parquet":
        assert line["reviewed_at"] == datetime.fromtimestamp(NOW, UTC)


async def test_the_report_tells_the_keep_rate(ledger: Ledger) -> None:
    stage = await priced(ledger)
    again = {"by": "Ann", "because": None, "at": NOW}
    await stage.write(approve_retakes, [Quoted(await stage.row("d"), None)], **again)
    (whole,) = await ledger.read(keep_rates, campaign_id=stage.campaign.id)
    assert (whole.kept, whole.rejected, whole.rate) == (1, 1, 0.5)
    assert whole.videos == 3
    assert (whole.charged, whole.undecided, whole.each) == (Decimal("19.5"), 1, None)
    tools = await ledger.read(keep_rates, campaign_id=stage.campaign.id, by="tool")
    assert [(one.name, one.kept, one.rejected, one.charged) for one in tools] == [
        ("", 0, 1, 12), ("explainer", 1, 0, Decimal("7.5")),
    ]  # fmt: skip


@pytest.mark.parametrize("what", COLUMNS)
async def test_every_format_says_the_same(ledger: Ledger, what: str) -> None:
    own = {"tags": ("x", "y"), "notes": "=1+1\x01", "cost_center": "north"}
    stage = await Stage.set(ledger, brief("a", **own), brief("b", "Coffee"))
    await stage.delivered("a")
    exact = await exported(stage, what, "jsonl")
    for typed, line in zip(await exported(stage, what, "parquet"), exact, strict=True):
        told = {
            name: float(value) if isinstance(value, Decimal)
            else value.isoformat() if isinstance(value, datetime) else value
            for name, value in typed.items()
        }  # fmt: skip
        assert told == line
    for cells, line in zip(await exported(stage, what, "xlsx"), exact, strict=True):
        assert list(cells) == list(line)
        for name, value in line.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                assert cells[name] == value
        if what == "rows" and line["row"] == "a":
            assert (cells["notes"], cells["tags"]) == ("'=1+1\ufffd", "x, y")
            since = datetime.fromisoformat(line["since"])
            assert cells["since"].replace(tzinfo=UTC) == since


async def test_money_in_parquet_is_decimal(ledger: Ledger) -> None:
    out = io.BytesIO()
    stage = await Stage.set(ledger, brief())
    what = {"what": "chargeback", "format": "parquet"}
    await ledger.read(export, campaign=stage.campaign, out=out, **what)
    schema = parquet.read_schema(io.BytesIO(out.getvalue()))
    assert str(schema.field("charged").type) == "decimal128(24, 6)"


@pytest.mark.parametrize(
    ("path", "format"),
    [(None, "csv"), ("-", "csv"), ("a.csv", "csv"), ("a.XLSX", "xlsx"), ("a.parquet", "parquet"),
     ("a.jsonl", "jsonl"), ("a.ndjson", "jsonl"), ("a.txt", "csv")],
)  # fmt: skip
def test_the_name_of_a_file_says_its_format(path: str | None, format: str) -> None:
    assert format_of(path) == format


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("before")

    def break_off() -> None:
        with whole_file(path) as out:
            out.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()
    assert path.read_text() == "before"
    with whole_file(path) as out:
        out.write(b"whole")
    assert path.read_text() == "whole"
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]
    with pytest.raises(BadInput, match="there is no folder"), whole_file(tmp_path / "no" / "x"):
        raise AssertionError
