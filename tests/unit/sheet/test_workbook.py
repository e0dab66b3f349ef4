"""Excel workbooks: what a cell shows is what is read, or it is refused."""

import datetime as dt
import io
import re
import tracemalloc
import zipfile

import pytest

from tests.unit.sheet.conftest import rewritten

HEAD = ["id", "tool", "title", "aspect_ratio"]
VIDEO = ["r1", "explainer", None, None]
FEBRUARY = dt.datetime(2026, 2, 1)  # noqa: DTZ001


@pytest.mark.parametrize("name", ["campaign.xlsx", "campaign.csv"])
def test_a_workbook_is_known_by_its_content_and_read_like_the_csv_of_it(read, workbook, name):
    book = workbook([HEAD, ["r1", "explainer", "Grüße", "9:16"]])
    csv = "id,tool,title,aspect_ratio\nr1,explainer,Grüße,9:16\n"
    assert read(book, name).briefs == read(csv).briefs


@pytest.mark.parametrize(
    ("rows", "place", "words"),
    [
        ([HEAD, [], ["r1", "t", None, "4:5"]],
         ":3 row \"r1\", column aspect_ratio ('Spring 26'!D3): \"4:5\"", "is not one of"),
        ([["id", "tool", "moood"], VIDEO], ":1 column ('Spring 26'!C1) \"moood\"", "not a column"),
        ([HEAD, ["r1", "t", "=UPPER(A2)"]], ":2 row \"r1\", column title ('Spring 26'!C2)",
         "a formula without a result: open the workbook in a spreadsheet and save it"),
        ([["id", "script"], ["r1", "=A2"]], ":2 ", '"=A2" is a formula without a result'),
        ([HEAD, ["r1", "t", "#N/A"]], ":2 row \"r1\", column title ('Spring 26'!C2)",
         '"#N/A" is an error of the spreadsheet'),
        ([HEAD, ["r1", "t", "#DIV/0!"]], ":2 ", "is an error of the spreadsheet"),
        ([["id", "tool"], [9912140633506421, "t"]], ":2 column id", "which spreadsheets round"),
        ([HEAD, [*VIDEO, None, "x"]], ":2 column 6 ('Spring 26'!F2) \"x\"", "without a header"),
        # 1-2, 9/16 and 1.5 become dates while they are typed.
        *(([["tool", column], ["t", FEBRUARY]], ":2 ", '"2026-02-01" is a date that the spreadshe')
          for column in ("aspect_ratio", "duration_seconds", "tags", "language")),
        ([["tool", "id"], ["t", FEBRUARY]], ":2 ", "format the column as text"),
        ([], " ", "has no rows"),
        ([HEAD], " ", "has no rows"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_the_cell_as_the_spreadsheet_does(
    refuse, workbook, rows, place, words
):
    (problem,) = refuse(workbook(rows, title="Spring 26"), "c.xlsx")
    assert problem.startswith(f"c.xlsx{place}")
    assert words in problem


@pytest.mark.parametrize(
    ("formula", "old", "new", "title"),
    [
        ("=1+1", "<v ?/>|<v></v>", "<v>2</v>", "2"),
        ('=""', '<c r="C2">', '<c r="C2" t="str">', None),
    ],
)
def test_the_result_that_a_formula_was_saved_with_is_read(read, workbook, formula, old, new, title):
    book = workbook([HEAD, ["r1", "explainer", formula, None]])
    saved = rewritten(book, lambda xml: re.sub(old, new, xml))
    assert read(saved, "campaign.xlsx").briefs[0].request.get("title") == title


@pytest.mark.parametrize(
    ("value", "ratio"),
    [
        (dt.time(9, 16), "9:16"),
        (dt.time(16, 9), "16:9"),
        (dt.timedelta(hours=9, minutes=16), "9:16"),
        (0.386111111111111, "9:16"),
    ],
)
def test_it_recovers_an_aspect_ratio_that_became_a_time(read, workbook, value, ratio):
    sheet = read(workbook([HEAD, ["r1", "explainer", None, value]]), "campaign.xlsx")
    assert sheet.briefs[0].request["aspect_ratio"] == ratio
    assert "aspect_ratio (Sheet1!D2)" in str(sheet.notes[0])


def test_numbers_truths_and_dates_are_read_as_they_are_shown(read, workbook):
    def format_id(book):
        book.active["A2"].number_format = "000"

    values = [8.0, 0.1 + 0.2, 1e-7, True, dt.datetime(2026, 3, 4)]  # noqa: DTZ001
    rows = [[number, "t", value, False] for number, value in enumerate(values, start=7)]
    # A blank row does not turn ids into decimals, and 007 as a text is another id than 7.
    rows = [["id", "tool", "fields.n", "enabled"], *rows[:1], [None], *rows[1:], ["008", "t"]]
    briefs = read(workbook(rows, change=format_id), "c.xlsx").briefs
    assert [one.row for one in briefs] == ["007", "8", "9", "10", "11", "008"]
    assert [one.line for one in briefs] == [2, 4, 5, 6, 7, 8]
    shown = [one.request["fields"]["n"] for one in briefs[:-1]]
    assert shown == ["8", "0.3", "0.0000001", "TRUE", "2026-03-04"]
    assert [one.enabled for one in briefs[-2:]] == [False, True]


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (16.0, "0.00", "16"),
        (0.5, "General", "0.5"),
        (dt.time(16, 9), "h:mm", "16:09"),
        (dt.time(9, 16), "hh:mm", "09:16"),
        (dt.time(9, 16), "h:mm:ss", "9:16:00"),
        (True, "General", "TRUE"),
        ("0016", "@", "0016"),
    ],
)
def test_a_status_sheet_has_the_texts_that_were_shown(read, workbook, value, number_format, shown):
    def change(book):
        book.active["C2"].number_format = number_format

    book = workbook([["id", "tool", "x_note"], ["r1", "t", value]], change=change)
    assert [*read(book, "c.xlsx").briefs[0].cells][2] == ("x_note", shown)


def test_excels_carriage_returns_are_line_breaks(read, workbook):
    rows = [["id", "script"], ["r1", "one_x000D_\n_x000D_\ntwo"]]
    scenes = read(workbook(rows), "c.xlsx").briefs[0].request["script"]["scenes"]
    assert [scene["narration"] for scene in scenes] == ["one", "two"]


ROWS = [["id", "tool"], ["r1", "t"]]
NOTES = [["Notes"], ["Ask Ada for the logo"]]


def with_worksheets(hidden="", **contents):
    """Return what adds worksheets to a workbook, each of these rows."""

    def change(book):
        for title, rows in contents.items():
            added = book.create_sheet(title.replace("_", " "))
            added.sheet_state = "hidden" if title == hidden else "visible"
            for row in rows:
                added.append(row)

    return change


def test_it_reads_the_one_worksheet_with_known_columns_and_says_which(read, workbook):
    change = with_worksheets(Videos=ROWS, Old=NOTES)
    book = workbook([["Spring campaign"], [], ["Title", "Spring"]], title="Cover", change=change)
    sheet = read(book, "c.xlsx")
    assert sheet.briefs[0].row == "r1"
    (note,) = map(str, sheet.notes)
    assert 'c.xlsx has 3 worksheets; "Videos" is read' in note
    assert 'not "Cover", "Old" (--worksheet Videos settles it)' in note
    assert not read(book, "c.xlsx", worksheet="videos").notes


def test_it_asks_which_worksheet_is_the_sheet_and_reads_a_hidden_one_by_name(
    refuse, read, workbook
):
    several = workbook(NOTES, change=with_worksheets(Spring_26=ROWS, Old=ROWS))
    assert refuse(several, "c.xlsx") == [
        'c.xlsx has 2 worksheets that may be the sheet, "Spring 26", "Old": '
        'choose one with --worksheet "Spring 26"'
    ]
    assert read(several, "c.xlsx", worksheet="old").briefs
    change = with_worksheets(hidden="Data", Data=ROWS, More=[["Ask Ada"]])
    none_shown = workbook([["Cover"]], change=change)
    (problem,) = refuse(none_shown, "c.xlsx")
    assert 'in any worksheet it shows ("Sheet1", "More"); --worksheet NAME' in problem
    assert read(none_shown, "c.xlsx", worksheet="Data").briefs


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Frühlng", 'has no worksheet "Frühlng" (did you mean "Frühling"?)'),
        ("Rows", 'has no worksheet "Rows"; it has "Sheet1", "Frühling"'),
    ],
)
def test_it_says_which_worksheet_may_be_meant(refuse, workbook, asked, answer):
    book = workbook([HEAD], change=with_worksheets(Frühling=ROWS))
    assert refuse(book, "c.xlsx", worksheet=asked) == [f"c.xlsx {answer}"]


def test_it_does_not_believe_the_size_a_workbook_declares(read, workbook):
    book = workbook([HEAD, ["r1", "t", "One", "1:1"], ["r2", "t", "Two", "1:1"]])
    lying = rewritten(book, lambda xml: xml.replace('ref="A1:D3"', 'ref="A1"'))
    assert len(read(lying, "c.xlsx").briefs) == 2


def test_it_reads_coloured_emptiness_as_nothing(read, workbook):
    def colour(book):
        from openpyxl.styles import PatternFill

        for row in range(3, 1300):
            book.active.cell(row, 30).fill = PatternFill("solid", "FFEE00")

    assert len(read(workbook([HEAD, VIDEO], change=colour), "c.xlsx").briefs) == 1


TEXT = '<row r="{line}"><c r="{cell}{line}" t="inlineStr"><is><t>x</t></is></c></row>'
MERGED = '<mergeCell ref="A3:XFD3"/>'
#: Small workbooks that mean a great deal: what is put below their rows, and what is said of them.
FAR = {
    "a cell at the end of the worksheet": (
        TEXT.format(line=1_048_576, cell="XFD"), "uses 16384 columns; 200 is the limit",
    ),
    "a gap of a million lines": (
        TEXT.format(line=1_048_576, cell="A"), 'c.xlsx:1048576 row "x"',
    ),
    "a line beyond the last": (TEXT.format(line=1_048_577, cell="A"), "more than 1,048,576 lines"),
    "merged cells without end": (
        f"</sheetData><mergeCells>{MERGED * 100_001}</mergeCells><sheetData>",
        "more than 100,000 merged cells",
    ),
}  # fmt: skip


@pytest.mark.merge
@pytest.mark.parametrize("what", FAR)
def test_what_is_far_away_costs_no_memory(refuse, workbook, what):
    below, words = FAR[what]
    book = workbook([HEAD, ["r1", "t", "One", "1:1"]])
    far = rewritten(book, lambda xml: xml.replace("</sheetData>", below + "</sheetData>"))
    tracemalloc.start()
    problems = refuse(far, "c.xlsx")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert words in problems[0]
    # A million lines took a gigabyte.
    assert peak < 100 * 1024 * 1024


def test_damaged_old_and_hostile_workbooks_are_refused(refuse, workbook):
    book = workbook([HEAD, VIDEO])
    bomb = io.BytesIO(book)
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/zeros.bin", b"\0" * 30_000_000)
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("campaign.csv", "id,tool\n")
    entity = '<!DOCTYPE x [<!ENTITY a "b">]>'
    for content, words in (
        (bomb.getvalue(), "times its size"),
        (rewritten(book, lambda xml: entity + xml.split("?>", 1)[-1]), "XML entities"),
        (b"PK\x03\x04 and nothing more", "is not a workbook that can be read"),
        (b"id,tool\nr1,t\n", "is not a workbook that can be read"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is a workbook of an old Excel"),
        (book[: len(book) // 2], "is not a workbook"),
        (rewritten(book, lambda xml: xml[: len(xml) // 2]), "is not a workbook"),
        (other.getvalue(), "not a workbook"),
    ):
        (problem,) = refuse(content, "c.xlsx")
        assert words in problem
