"""Lines that nobody wrote a video into: blank ones, unticked checkboxes, totals."""

import pytest

HEAD = ["id", "tool", "title", "enabled", "max_credits"]
VIDEO = ["r1", "explainer", "One", True, 20]


@pytest.mark.parametrize(
    "line",
    [
        [None, None, None, False, None],
        [None, None, None, "FALSCH", None],
        ["", " ", "", "FAUX", ""],
        [None, None, None, False, False],
    ],
)
def test_a_line_of_nothing_but_unticked_checkboxes_is_blank(read, table, line):
    content, name, _ = table([HEAD, VIDEO, *[line] * 1000])
    sheet = read(content, name)
    assert [brief.row for brief in sheet.briefs] == ["r1"]
    assert not sheet.notes


def test_an_unticked_checkbox_beside_anything_else_is_no_blank_line(refuse, table):
    content, name, _ = table([HEAD, VIDEO, [None, None, "Two", False, None]])
    (problem,) = refuse(content, name)
    assert "has neither a tool nor a script" in problem


def test_formulas_without_a_text_are_blank(read, workbook):
    import io
    import re
    import zipfile

    book = workbook([HEAD, VIDEO, [None, None, '=IF(A3="","","x")', False, None]])
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as old, zipfile.ZipFile(changed, "w") as new:
        for part in old.namelist():
            text = old.read(part)
            if part.endswith("sheet1.xml"):
                text = re.sub(
                    rb'<c r="C3">(.*?)(?:<v ?/>|<v></v>)', rb'<c r="C3" t="str">\1<v></v>', text
                )
            new.writestr(part, text)
    assert len(read(changed.getvalue(), "c.xlsx").briefs) == 1


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


def test_totals_between_rows_are_refused(refuse, table):
    content, name, _ = table([HEAD, ["Total", None, None, None, 20], VIDEO])
    assert "neither a tool nor a script" in refuse(content, name)[0]
