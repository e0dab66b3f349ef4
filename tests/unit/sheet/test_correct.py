"""Single cells of a sheet are corrected, and every other byte stays."""

from __future__ import annotations

import io
import zipfile

import openpyxl
import pytest
from openpyxl.styles import Font

from callsheet.tasks.runtime.errors import BadInput, Problem
from callsheet.tasks.sheet.correct import correct, is_correctable
from callsheet.tasks.sheet.read import find_sheet_in
from callsheet.tasks.sheet.table import SheetOptions


def at(file: str, cell: str) -> Problem:
    return Problem(file=file, message="is wrong", line=2, cell=cell, column=cell.split()[0])


def problems_of(content: bytes, name: str) -> tuple[Problem, ...]:
    return find_sheet_in(content, name=name, options=SheetOptions()).problems


def workbook(title: str = "Sheet") -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = title
    sheet.append(["id", "script", "aspect_ratio", "duratoin_seconds"])
    sheet.append(["a", "Hello & <you>", "9:17", 8])
    sheet["C2"].font = Font(bold=True)
    other = book.create_sheet("Sums")
    other["A1"] = "=1+1"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


@pytest.mark.parametrize("title", ["Sheet", "Spring 2027, it's on"])
def test_a_workbook_keeps_all_but_the_cell(title: str) -> None:
    before = workbook(title)
    header, ratio = problems_of(before, "s.xlsx")
    assert is_correctable(header)
    assert is_correctable(ratio)

    after = correct(before, [(ratio, "9:16"), (header, "duration_seconds")])

    assert not problems_of(after, "s.xlsx")
    book = openpyxl.load_workbook(io.BytesIO(after))
    assert book[title]["C2"].value == "9:16"
    assert book[title]["C2"].font.bold
    assert book[title]["B2"].value == "Hello & <you>"
    assert book["Sums"]["A1"].value == "=1+1"
    with zipfile.ZipFile(io.BytesIO(before)) as old, zipfile.ZipFile(io.BytesIO(after)) as new:
        assert old.namelist() == new.namelist()
        changed = [one for one in old.namelist() if old.read(one) != new.read(one)]
    assert changed == ["xl/worksheets/sheet1.xml"]


def test_an_empty_cell_of_a_workbook_is_filled() -> None:
    before = workbook()
    empty = at("s.xlsx", "title (Sheet!E2)")
    between = at("s.xlsx", "script (Sheet!B2)")

    after = correct(correct(before, [(between, "")]), [(empty, "T"), (between, " x <y>")])

    sheet = openpyxl.load_workbook(io.BytesIO(after))["Sheet"]
    assert [cell.value for cell in sheet[2]] == ["a", " x <y>", "9:17", 8, "T"]


def test_a_formula_is_left_to_the_spreadsheet() -> None:
    formula = at("s.xlsx", "x (Sums!A1)")

    with pytest.raises(BadInput, match="holds a formula"):
        correct(workbook(), [(formula, "2")])


CSV = 'id;script;aspect_ratio;title\r\na;"Hello;\r\nyou";9:17;"quoted"\r\nb;"Hi";9:16;\r\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("before", ["", "sep=;\r\n"])
def test_a_text_keeps_its_encoding_delimiter_and_other_lines(before: str, encoding: str) -> None:
    content = (before + CSV).encode(encoding)
    (ratio,) = problems_of(content, "s.csv")

    after = correct(content, [(ratio, "1:1")])

    assert not problems_of(after, "s.csv")
    expected = CSV.replace("9:17", "1:1").replace('"quoted"', "quoted")
    assert after.decode(encoding) == before + expected


def test_a_character_that_the_encoding_lacks_is_refused() -> None:
    content = "id,title,script,aspect_ratio\na,Café,Hi,9:17\n".encode("cp1252")
    ratio = problems_of(content, "s.csv")[-1]

    with pytest.raises(BadInput, match="not saved as UTF-8"):
        correct(content, [(ratio, "日本")])
    with pytest.raises(BadInput, match="control characters"):
        correct(content, [(ratio, "\x07")])


def test_a_cell_below_a_header_of_your_own_is_corrected() -> None:
    content = b"Spring, by Ada, v2, for all\nNummer;Text;Bild\na;Hi;9:17\n"
    mapped = {"Nummer": "id", "Text": "script", "Bild": "aspect_ratio"}
    found = find_sheet_in(content, name="s.csv", options=SheetOptions(columns=mapped))

    after = correct(content, [(found.problems[0], "1:1")], mapped)

    assert after == content.replace(b"9:17", b"1:1")


def test_trees_are_fixed_as_text() -> None:
    assert not is_correctable(at("s.yaml", "x"))
