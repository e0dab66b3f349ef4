"""Single cells of a sheet are corrected, and nothing else of it changes."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import date

import openpyxl
import pytest
from openpyxl.worksheet.worksheet import Worksheet

from callsheet.tasks.runtime.errors import BadInput, Problem
from callsheet.tasks.sheet.correct import correct, is_correctable, name_of_copy, with_columns
from callsheet.tasks.sheet.read import FoundSheet, find_sheet_in
from callsheet.tasks.sheet.table import SheetOptions


def at(file: str, cell: str) -> Problem:
    return Problem(file=file, message="is wrong", line=2, cell=cell, column=cell.split()[0])


def found_in(content: bytes, name: str) -> FoundSheet:
    return find_sheet_in(content, name=name, options=SheetOptions())


def text_of(content: bytes) -> list[str]:
    return content.decode("utf-8-sig").splitlines()


def a_workbook(*rows: list[object], change: Callable[[Worksheet], None] = lambda _: None) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    change(book.active)
    book.create_sheet("Sums")["A1"] = "=1+1"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


HEAD = ["id", "script", "aspect_ratio", "duratoin_seconds"]
ROW = ["a", "Hello & <you>", "9:17", 8]


def named(title: str) -> Callable[[Worksheet], None]:
    return lambda sheet: setattr(sheet, "title", title)


@pytest.mark.parametrize("title", ["Sheet", "Spring 2027, it's on"])
def test_a_workbook_becomes_a_csv(title: str) -> None:
    before = a_workbook(HEAD, ROW, change=named(title))
    header, ratio = found_in(before, "s.xlsx").problems
    assert is_correctable(header)
    assert is_correctable(ratio)
    assert not is_correctable(at("s.yaml", "x"))

    after = correct(before, [(ratio, "9:16"), (header, "duration_seconds")])

    assert name_of_copy("s.xlsx") == "s.csv"
    assert not found_in(after, "s.csv").problems
    assert text_of(after) == ["id,script,aspect_ratio,duration_seconds", "a,Hello & <you>,9:16,8"]


def odd(sheet: Worksheet) -> None:
    sheet["B3"].number_format = "000"
    sheet["B5"].value = "@two"
    sheet["F5"].data_type = "s"
    sheet.merge_cells("G3:G5")
    sheet.row_dimensions[4].hidden = True


def corrected(sheet: Worksheet) -> None:
    odd(sheet)
    sheet["D5"].value = sheet["D4"].value = "1:1"


#: All that a CSV has no way to say, with one mistake, in D5.
ODD = (
    ["Spring 2027, by Ada"],
    ["id", "title", "script", "aspect_ratio", "deliver_after", "x_sum", "tags"],
    ["a", 7, ' Hello, "you"\nand you ', "9:16", date(2027, 3, 5), "'=1+1", "one"],
    ["hidden", "H", "Hi", "9:17", None, None, None],
    ["b", "=1+1", "é, ü; 日本", "9:17", None, "=2+2", "two"],
    [None, None, None, None, None, None, None],
    ["c", 0.1, "_x000D_\nLast", "16:9", None, "-5", None],
)


def test_all_other_rows_of_a_workbook_have_the_same_digests_and_hidden_ones_are_left_out() -> None:
    before = a_workbook(*ODD, change=odd)
    problems = found_in(before, "s.xlsx").problems
    ratio = next(one for one in problems if one.row == "b")

    after = correct(before, [(ratio, "1:1")], left=[one for one in problems if one != ratio])

    copy = found_in(after, "s.csv").good()
    known = found_in(a_workbook(*ODD, change=corrected), "s.xlsx").good()
    assert [(one.row, one.digest, one.wishes) for one in copy.briefs] == [
        (one.row, one.digest, one.wishes) for one in known.briefs if one.row != "hidden"
    ]
    assert [one.row for one in copy.briefs] == ["a", "b", "c"]
    assert copy.campaign == known.campaign


def test_the_visible_rows_of_a_workbook_get_a_text_once_no_csv_hides_a_problem() -> None:
    before = a_workbook(*ODD, change=odd)

    after = with_columns(
        before, {"matrix.aspect_ratio": "9:16|1:1"}, left=found_in(before, "s.xlsx").problems
    )

    rows = [one.row for one in found_in(after, "s.csv").good().briefs]
    assert rows == [f"{row}-{shape}" for row in "abc" for shape in ("9x16", "1x1")]


def test_an_empty_cell_of_a_workbook_is_filled() -> None:
    empty = at("s.xlsx", "title (Sheet!E2)")
    between = at("s.xlsx", "script (Sheet!B2)")

    after = correct(a_workbook(HEAD, ROW), [(empty, "T"), (between, "x <y>")])

    assert text_of(after)[1] == "a,x <y>,9:17,8,T"


@pytest.mark.parametrize("odd", ["a date", "merged"])
def test_a_problem_that_a_csv_hides_is_corrected_with_the_others(odd: str) -> None:
    is_date = odd == "a date"
    row = ["A", date(2027, 3, 5) if is_date else "a", "Hi", "9:17"]
    merge: Callable[[Worksheet], None] = lambda sheet: sheet.merge_cells("B2:C2")  # noqa: E731
    change = {} if is_date else {"change": merge}
    before = a_workbook(["title", "id", "script", "aspect_ratio"], row, **change)
    problems = found_in(before, "s.xlsx").problems
    ratio = next(one for one in problems if one.column == "aspect_ratio")
    left = [one for one in problems if one != ratio]

    with pytest.raises(BadInput, match="B2"):
        correct(before, [(ratio, "9:16")], left=left)
    if is_date:
        after = correct(before, [(ratio, "9:16"), (left[0], "march-5")])
        assert not found_in(after, "s.csv").problems


CSV = 'id;script;aspect_ratio;title\r\na;"Hello;\r\nyou";9:17;"quoted"\r\nb;"Hi";9:16;\r\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("before", ["", "sep=;\r\n"])
def test_a_text_keeps_its_delimiter_and_other_cells(before: str, encoding: str) -> None:
    content = (before + CSV).encode(encoding)
    (ratio,) = found_in(content, "s.csv").problems

    after = correct(content, [(ratio, "1:1")])

    assert not found_in(after, "s.csv").problems
    expected = CSV.replace("9:17", "1:1").replace('"quoted"', "quoted").replace('"Hi"', "Hi")
    expected = expected.replace("Hello;\r\n", "Hello;\n")
    assert after.decode("utf-8-sig") == before + expected


def test_a_copy_takes_characters_that_the_encoding_of_the_sheet_lacks() -> None:
    content = "id,title,script,aspect_ratio\na,Café,Hi,9:17\n".encode("cp1252")
    ratio = found_in(content, "s.csv").problems[-1]

    assert text_of(correct(content, [(ratio, "日本")]))[1] == "a,Café,Hi,日本"
    with pytest.raises(BadInput, match="control characters"):
        correct(content, [(ratio, "\x07")])


def test_a_cell_below_a_header_of_your_own_is_corrected() -> None:
    content = b"Spring, by Ada, v2, for all\nNummer;Text;Bild\na;Hi;9:17\n"
    mapped = {"Nummer": "id", "Text": "script", "Bild": "aspect_ratio"}
    found = find_sheet_in(content, name="s.csv", options=SheetOptions(columns=mapped))

    after = correct(content, [(found.problems[0], "1:1")], mapped)

    assert text_of(after) == content.decode().replace("9:17", "1:1").splitlines()


def test_all_rows_get_a_text_and_what_is_no_row_is_left_out() -> None:
    lines = ("Spring;;;", "id;Sprache;matrix.language;script", "a;de;en;Hi, you", "",
             "id;Sprache;matrix.language;script", "b;en;;Hello", "Total;;;2")  # fmt: skip
    columns = {"matrix.language": "de|en", "tool": "=x"}

    after = with_columns("\n".join(lines).encode(), columns, {"Sprache": "language"})

    # Of a column and its axis one is left: two of them could not be meant.
    assert text_of(after) == [
        "id;matrix.language;;script;tool",
        "a;de|en;;Hi, you;'=x",
        "b;de|en;;Hello;'=x",
    ]
    assert text_of(with_columns(after, {"language": "fr"}))[1] == "a;fr;;Hi, you;'=x"
