"""Single cells of a sheet are corrected, and nothing else of it changes."""

from __future__ import annotations

import io
from datetime import date

import openpyxl
import pytest

from callsheet.tasks.runtime.errors import BadInput, Problem
from callsheet.tasks.sheet.correct import (
    correct,
    is_correctable,
    name_of_copy,
    with_columns,
)
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
    other = book.create_sheet("Sums")
    other["A1"] = "=1+1"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


@pytest.mark.parametrize("title", ["Sheet", "Spring 2027, it's on"])
def test_a_workbook_becomes_a_csv(title: str) -> None:
    before = workbook(title)
    header, ratio = problems_of(before, "s.xlsx")
    assert is_correctable(header)
    assert is_correctable(ratio)

    after = correct(before, [(ratio, "9:16"), (header, "duration_seconds")])

    assert name_of_copy("s.xlsx") == "s.csv"
    assert not problems_of(after, "s.csv")
    assert after.decode("utf-8-sig").splitlines() == [
        "id,script,aspect_ratio,duration_seconds",
        "a,Hello & <you>,9:16,8",
    ]


def odd_workbook() -> bytes:
    """A workbook of all that a CSV has no way to say, with one mistake, in D5."""
    book = openpyxl.Workbook()
    sheet = book.active
    rows = [
        ["Spring 2027, by Ada"],
        ["id", "title", "script", "aspect_ratio", "deliver_after", "x_sum", "tags"],
        ["a", 7, ' Hello, "you"\nand you ', "9:16", date(2027, 3, 5), "'=1+1", "one"],
        ["hidden", "H", "Hi", "9:17", None, None, None],
        ["b", "=1+1", "é, ü; 日本", "9:17", None, "=2+2", "two"],
        [None, None, None, None, None, None, None],
        ["c", 0.1, "_x000D_\nLast", "16:9", None, "-5", None],
    ]
    for row in rows:
        sheet.append(row)
    sheet["B3"].number_format = "000"
    sheet["B5"].value = "@two"
    sheet["F5"].data_type = "s"
    sheet.merge_cells("G3:G5")
    sheet.row_dimensions[4].hidden = True
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_all_other_rows_of_a_workbook_have_the_same_digests_and_hidden_ones_are_left_out() -> None:
    before = odd_workbook()
    found = find_sheet_in(before, name="s.xlsx", options=SheetOptions())
    ratio = next(one for one in found.problems if one.row == "b")

    after = correct(before, [(ratio, "1:1")], left=[one for one in found.problems if one != ratio])

    copy = find_sheet_in(after, name="s.csv", options=SheetOptions()).good()
    fixed = openpyxl.load_workbook(io.BytesIO(before))
    fixed.active["D5"].value = fixed.active["D4"].value = "1:1"
    saved = io.BytesIO()
    fixed.save(saved)
    known = find_sheet_in(saved.getvalue(), name="s.xlsx", options=SheetOptions()).good()
    visible = [one for one in known.briefs if one.row != "hidden"]
    assert [(one.row, one.digest, one.wishes) for one in copy.briefs] == [
        (one.row, one.digest, one.wishes) for one in visible
    ]
    assert [one.row for one in copy.briefs] == ["a", "b", "c"]
    assert copy.campaign == known.campaign


def test_an_empty_cell_of_a_workbook_is_filled() -> None:
    empty = at("s.xlsx", "title (Sheet!E2)")
    between = at("s.xlsx", "script (Sheet!B2)")

    after = correct(workbook(), [(empty, "T"), (between, "x <y>")])

    assert after.decode("utf-8-sig").splitlines()[1] == "a,x <y>,9:17,8,T"


@pytest.mark.parametrize("odd", ["a date", "merged"])
def test_a_problem_that_a_csv_hides_is_corrected_with_the_others(odd: str) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["title", "id", "script", "aspect_ratio"])
    sheet.append(["A", date(2027, 3, 5) if odd == "a date" else "a", "Hi", "9:17"])
    if odd == "merged":
        sheet.merge_cells("B2:C2")
    out = io.BytesIO()
    book.save(out)
    found = problems_of(out.getvalue(), "s.xlsx")
    ratio = next(one for one in found if one.column == "aspect_ratio")
    left = [one for one in found if one != ratio]

    with pytest.raises(BadInput, match="B2"):
        correct(out.getvalue(), [(ratio, "9:16")], left=left)
    if odd == "a date":
        after = correct(out.getvalue(), [(ratio, "9:16"), (left[0], "march-5")])
        assert not problems_of(after, "s.csv")


CSV = 'id;script;aspect_ratio;title\r\na;"Hello;\r\nyou";9:17;"quoted"\r\nb;"Hi";9:16;\r\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("before", ["", "sep=;\r\n"])
def test_a_text_keeps_its_delimiter_and_other_cells(before: str, encoding: str) -> None:
    content = (before + CSV).encode(encoding)
    (ratio,) = problems_of(content, "s.csv")

    after = correct(content, [(ratio, "1:1")])

    assert not problems_of(after, "s.csv")
    expected = CSV.replace("9:17", "1:1").replace('"quoted"', "quoted").replace('"Hi"', "Hi")
    expected = expected.replace("Hello;\r\n", "Hello;\n")
    assert after.decode("utf-8-sig") == before + expected


def test_a_copy_takes_characters_that_the_encoding_of_the_sheet_lacks() -> None:
    content = "id,title,script,aspect_ratio\na,Café,Hi,9:17\n".encode("cp1252")
    ratio = problems_of(content, "s.csv")[-1]

    lines = correct(content, [(ratio, "日本")]).decode("utf-8-sig").splitlines()
    assert lines[1] == "a,Café,Hi,日本"
    with pytest.raises(BadInput, match="control characters"):
        correct(content, [(ratio, "\x07")])


def test_a_cell_below_a_header_of_your_own_is_corrected() -> None:
    content = b"Spring, by Ada, v2, for all\nNummer;Text;Bild\na;Hi;9:17\n"
    mapped = {"Nummer": "id", "Text": "script", "Bild": "aspect_ratio"}
    found = find_sheet_in(content, name="s.csv", options=SheetOptions(columns=mapped))

    after = correct(content, [(found.problems[0], "1:1")], mapped)

    assert after.decode("utf-8-sig") == content.decode().replace("9:17", "1:1").replace(
        "\n", "\r\n"
    )


def test_trees_are_fixed_as_text() -> None:
    assert not is_correctable(at("s.yaml", "x"))


def test_all_rows_get_a_text_and_what_is_no_row_is_left_out() -> None:
    lines = ("Spring;;;", "id;Sprache;matrix.language;script", "a;de;en;Hi, you", "",
             "id;Sprache;matrix.language;script", "b;en;;Hello", "Total;;;2")  # fmt: skip
    before = "\n".join(lines).encode()
    mapped = {"Sprache": "language"}

    after = with_columns(before, {"matrix.language": "de|en", "tool": "=x"}, mapped)

    # Of a column and its axis one is left: two of them could not be meant.
    assert after.decode("utf-8-sig").splitlines() == [
        "id;matrix.language;;script;tool",
        "a;de|en;;Hi, you;'=x",
        "b;de|en;;Hello;'=x",
    ]
    again = with_columns(after, {"language": "fr"})
    assert again.decode("utf-8-sig").splitlines()[1] == "a;fr;;Hi, you;'=x"


def test_the_visible_rows_of_a_workbook_get_a_text_once_no_csv_hides_a_problem() -> None:
    before = odd_workbook()
    columns = {"matrix.aspect_ratio": "9:16|1:1"}

    after = with_columns(before, columns, left=problems_of(before, "s.xlsx"))

    copy = find_sheet_in(after, name="s.csv", options=SheetOptions()).good()
    rows = [one.row for one in copy.briefs]
    assert rows == [f"{row}-{shape}" for row in "abc" for shape in ("9x16", "1x1")]
