"""Exports: safe for spreadsheets, exact for programs, and adding up to the account."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from tasks.aftercare.export.cells import cell, safe_text
from tasks.aftercare.export.export import COLUMNS, export, whole_file
from tasks.errors import BadInput
from tasks.ledger import Ledger, give_up
from tests.campaigns import Stage, brief

T0 = 1_750_000_000.0


async def exported(stage: Stage, what: str, format: str = "jsonl") -> list[dict]:
    out = io.StringIO(newline="")
    campaign = await stage.account()
    query = partial(export, campaign=campaign, out=out, what=what, format=format)
    count = await stage.ledger.read(query)
    if format == "jsonl":
        lines = [json.loads(line) for line in out.getvalue().splitlines()]
    else:
        lines = list(csv.DictReader(io.StringIO(out.getvalue().removeprefix("\ufeff"))))
    assert count == len(lines)
    return lines


@pytest.mark.parametrize("sign", "=+-@＝＋－＠\t\r\0")
def test_a_cell_that_a_spreadsheet_would_run_is_only_text(sign: str) -> None:
    assert safe_text(f"{sign}cmd|'/C calc'!A0") == f"'{sign}cmd|'/C calc'!A0"
    assert safe_text(f"  \u3000{sign}1").startswith("'")


@pytest.mark.parametrize("text", ["r001", "0042", "vid_-x", "a=b", "cs1_abc", "Kessel „Größe M“"])
def test_a_harmless_cell_is_left_as_it_is(text: str) -> None:
    assert safe_text(text) == text


def test_numbers_and_truths_are_no_text() -> None:
    assert [cell(value) for value in (Decimal("-1.5"), 7, None, True)] == [-1.5, 7, "", "yes"]


async def test_a_csv_begins_with_a_mark_and_survives_commas_and_lines(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief(notes='a, "b"\nc', tags=("x", "y")))
    out = io.StringIO(newline="")
    query = partial(export, campaign=stage.campaign, out=out, what="rows", format="csv")
    await ledger.read(query)
    assert out.getvalue().startswith("\ufeffcampaign,row,line,state,")
    (line,) = await exported(stage, "rows", "csv")
    assert list(line) == ["campaign", *COLUMNS["rows"]]
    assert (line["notes"], line["tags"], line["enabled"]) == ('a, "b"\nc', "x, y", "yes")


async def test_the_lines_of_programs_are_exact(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief(notes="=1+1", tags=("=x",)))
    row = await stage.delivered()
    (line,) = await exported(stage, "rows")
    assert (line["notes"], line["tags"]) == ("=1+1", ["=x"])
    assert (line["key"], line["video_id"], line["charged"]) == (row.take.key, "vid_a", 12)
    assert (line["film"], line["bytes"]) == ("file:///film.mp4", 9)
    (take,) = await exported(stage, "takes")
    assert (take["present"], take["take"], take["quoted"]) == (True, 1, 12)
    assert [event["new"] for event in await exported(stage, "events") if event["new"]] == [
        "quoted", "approved", "submitting", "rendering", "ready", "delivered",
    ]  # fmt: skip
    (in_csv,) = await exported(stage, "rows", "csv")
    assert (in_csv["notes"], in_csv["tags"], in_csv["row"]) == ("'=1+1", "'=x", "a")


async def test_a_row_without_a_take_is_exported_too(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief())
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


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("before")

    def break_off() -> None:
        with whole_file(path) as out:
            out.write("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()
    assert path.read_text() == "before"
    with whole_file(path) as out:
        out.write("whole")
    assert path.read_text() == "whole"
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]
    with pytest.raises(BadInput, match="cannot be written"), whole_file(tmp_path / "no" / "x"):
        raise AssertionError
