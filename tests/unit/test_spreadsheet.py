"""Nothing that is written for a spreadsheet runs in one: CSV, XLSX and the status sheet."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal

import openpyxl
import pytest

from callsheet.tasks.campaign.report import status_sheet
from callsheet.tasks.runtime.spreadsheets import guarded, unguarded, write_csv, write_xlsx
from tests.campaigns import a_shown_row

SIGNS = "=+-@＝＋－＠"
FORMULAS = [
    *(f"{sign}cmd|'/C calc'!A0" for sign in SIGNS),
    *(f"{hidden}=1+1" for hidden in ("\t", "\r", "\n", "\0", " ", "  \u3000", "\u00a0", "\ufeff")),
    "\u200b ＝1",
]
HARMLESS = ["r001", "0042", "vid_-x", "a=b", "cs1_abc", "Kessel „Größe M“", "'tis", "", "１"]


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_would_run_is_only_text(text: str) -> None:
    assert guarded(text) == f"'{text}"
    for written in (in_csv(text), in_xlsx(text), in_status_sheet(text)):
        assert written.startswith("'"), written


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_is_left_as_it_is(text: str) -> None:
    assert guarded(text) == unguarded(text) == text
    assert [in_csv(text), in_xlsx(text), in_status_sheet(text)] == [text] * 3


@pytest.mark.parametrize("sign", SIGNS)
def test_the_reader_of_sheets_takes_the_mark_off_again(sign: str) -> None:
    assert unguarded(guarded(f"{sign}SUM(A1)")) == f"{sign}SUM(A1)"


@pytest.mark.parametrize("text", ["#REF!", "#N/A", "007", "TRUE", "1e5"])
def test_text_stays_text_in_a_workbook(text: str) -> None:
    assert in_xlsx(text) == text


def test_numbers_and_truths_are_no_text() -> None:
    out = io.BytesIO()
    values = {"a": Decimal("-1.5"), "b": 7, "c": None, "d": True}
    assert write_xlsx(out, list(values), [values]) == 1
    (cells,) = openpyxl.load_workbook(out).active.iter_rows(min_row=2, values_only=True)
    assert cells == (-1.5, 7, None, "yes")


def in_csv(text: str) -> str:
    """Write a text as a header and as a cell; return both, which must be alike."""
    out = io.StringIO(newline="")
    assert write_csv(out, [text, "x"], [{text: text}]) == 1
    return _alike(list(csv.reader(io.StringIO(out.getvalue().removeprefix("\ufeff"), newline=""))))


def in_xlsx(text: str) -> str:
    out = io.BytesIO()
    write_xlsx(out, [text, "x"], [{text: text}])
    lines = list(openpyxl.load_workbook(out).active.iter_rows())
    assert lines[0][0].data_type in ("inlineStr", "s", "n")
    return _alike([[cell.value or "" for cell in line] for line in lines])


def in_status_sheet(text: str) -> str:
    data = status_sheet([a_shown_row(cells_text=json.dumps([(text, text)]))]).decode()
    return _alike(list(csv.reader(io.StringIO(data.removeprefix("\ufeff"), newline=""))))


def _alike(lines: list[list[str]]) -> str:
    header, line = lines
    assert header[0] == line[0]
    return line[0]
