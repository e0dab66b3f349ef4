"""Lines that nobody wrote a video into: blank ones, unticked checkboxes, totals."""

import re

import pytest

from tests.unit.sheet.conftest import rewritten

HEAD = ["id", "tool", "title", "enabled", "max_credits"]
VIDEO = ["r1", "explainer", "One", True, 20]


@pytest.mark.parametrize(
    "line",
    [
        [None, None, None, False, None],
        [None, None, None, "FALSCH", None],
        [None, None, None, False, False],
    ],
)
def test_a_line_of_nothing_but_unticked_checkboxes_is_blank(read, table, line):
    content, name, _ = table([HEAD, VIDEO, *[line] * 1000])
    sheet = read(content, name)
    assert [brief.row for brief in sheet.briefs] == ["r1"]
    assert not sheet.notes


@pytest.mark.parametrize(
    "lines",
    [[VIDEO, [None, None, "Two", False, None]], [["Total", None, None, None, 20], VIDEO]],
    ids=["an unticked checkbox beside a title", "totals between rows"],
)
def test_what_only_looks_blank_is_refused(refuse, table, lines):
    content, name, _ = table([HEAD, *lines])
    assert "neither a tool nor a script" in refuse(content, name)[0]


def test_formulas_without_a_text_are_blank(read, workbook):
    book = workbook([HEAD, VIDEO, [None, None, '=IF(A3="","","x")', False, None]])
    found, empty = '<c r="C3">(.*?)(?:<v ?/>|<v></v>)', r'<c r="C3" t="str">\1<v></v>'
    saved = rewritten(book, lambda xml: re.sub(found, empty, xml))
    assert len(read(saved, "c.xlsx").briefs) == 1


@pytest.mark.parametrize(
    "total",
    [
        ["Summe", None, None, None, 40],
        ["Total:", None, None, None, "40,00 €"],
        [None, None, "Gesamtsumme", None, 40],
        [None, "Total", None, None, 40],
    ],
)
def test_totals_below_the_rows_are_no_row_and_said(read, table, total):
    content, name, _ = table([HEAD, VIDEO, ["r2", "t", "Two", True, 20], [], total, [], []])
    sheet = read(content, name)
    assert [brief.row for brief in sheet.briefs] == ["r1", "r2"]
    (note,) = sheet.notes
    assert str(note).startswith(f"{name}:5 ")
    assert str(note).endswith("is a line of totals below the rows and is not read")


@pytest.mark.parametrize(
    "line",
    [
        ["total", "explainer", "The total", True, 20],
        ["r2", "explainer", "Total", None, 20],
        ["7", "explainer", None, None, 20],
    ],
)
def test_a_video_about_totals_is_a_row(read, table, line):
    content, name, _ = table([HEAD, VIDEO, line])
    assert len(read(content, name).briefs) == 2
