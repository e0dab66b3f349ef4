"""Excel workbooks: what a cell shows is what is read, or it is refused."""

import datetime as dt
import io
import re
import tracemalloc
import zipfile

import pytest

HEAD = ["id", "tool", "title", "aspect_ratio"]


def only(problems):
    (problem,) = problems
    return problem


def rewritten(content, **parts):
    """Return a workbook with some of its parts changed by a function of their text."""
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(changed, "w") as new:
        for part in old.infolist():
            text = old.read(part)
            if change := parts.get(part.filename.rsplit("/", 1)[-1].removesuffix(".xml")):
                text = change(text.decode()).encode()
            new.writestr(part.filename, text)
    return changed.getvalue()


def test_it_reads_a_workbook_like_the_csv_of_it(read, workbook):
    book = workbook([HEAD, ["r1", "explainer", "Grüße", "9:16"]])
    csv = "id,tool,title,aspect_ratio\nr1,explainer,Grüße,9:16\n"
    assert read(book, "campaign.xlsx").briefs == read(csv).briefs


def test_a_workbook_is_known_by_its_content(read, workbook):
    assert read(workbook([HEAD, ["r1", "t", None, None]]), "campaign.csv").briefs[0].row == "r1"


def test_it_names_the_cell_as_the_spreadsheet_does(refuse, workbook):
    book = workbook([HEAD, [], ["r1", "explainer", None, "4:5"]], title="Spring 26")
    assert refuse(book, "campaign.xlsx") == [
        'campaign.xlsx:3 row "r1", column aspect_ratio (\'Spring 26\'!D3): "4:5" is not one of '
        "9:16, 1:1, 16:9"
    ]
    problem = only(refuse(workbook([["id", "tool", "moood"], ["r1", "t", "x"]]), "a.xlsx"))
    assert problem.startswith('a.xlsx:1 column (Sheet1!C1) "moood" is not a column')


def test_it_refuses_a_formula_that_was_never_calculated(refuse, workbook):
    book = workbook([HEAD, ["r1", "explainer", "=UPPER(A2)", None]])
    assert refuse(book, "campaign.xlsx") == [
        'campaign.xlsx:2 row "r1", column title (Sheet1!C2): "=UPPER(A2)" is a formula without a '
        "result: open the workbook in a spreadsheet and save it"
    ]


def test_it_does_not_also_say_that_a_script_is_missing(refuse, workbook):
    problem = only(refuse(workbook([["id", "script"], ["r1", "=A2"]]), "campaign.xlsx"))
    assert '"=A2" is a formula without a result' in problem


def test_it_reads_the_result_a_formula_was_saved_with(read, workbook):
    book = workbook([HEAD, ["r1", "explainer", "=1+1", None]])
    saved = rewritten(book, sheet1=lambda xml: re.sub("<v ?/>|<v></v>", "<v>2</v>", xml))
    assert read(saved, "campaign.xlsx").briefs[0].title == "2"


def test_a_formula_whose_result_is_empty_is_an_empty_cell(read, workbook):
    book = workbook([HEAD, ["r1", "explainer", '=""', None]])

    def calculated(xml):
        return xml.replace('<c r="C2">', '<c r="C2" t="str">')

    saved = rewritten(book, sheet1=calculated)
    assert read(saved, "campaign.xlsx").briefs[0].request == {"tool": "explainer"}


@pytest.mark.parametrize("error", ["#N/A", "#REF!", "#VALUE!", "#DIV/0!"])
def test_it_refuses_the_errors_of_a_spreadsheet(refuse, workbook, error):
    book = workbook([HEAD, ["r1", "explainer", error, None]])
    assert refuse(book, "campaign.xlsx") == [
        f'campaign.xlsx:2 row "r1", column title (Sheet1!C2): "{error}" is an error of the '
        "spreadsheet, not a value"
    ]


@pytest.mark.parametrize(
    ("value", "ratio"),
    [
        (dt.time(9, 16), "9:16"),
        (dt.time(16, 9), "16:9"),
        (dt.time(1, 1), "1:1"),
        (dt.timedelta(hours=9, minutes=16), "9:16"),
        (0.386111111111111, "9:16"),
    ],
)
def test_it_recovers_an_aspect_ratio_that_became_a_time(read, workbook, value, ratio):
    sheet = read(workbook([HEAD, ["r1", "explainer", None, value]]), "campaign.xlsx")
    assert sheet.briefs[0].request["aspect_ratio"] == ratio
    assert "aspect_ratio (Sheet1!D2)" in str(sheet.notes[0])


def test_numbers_are_read_as_they_are_shown(read, workbook):
    def format_id(book):
        book.active["A2"].number_format = "000"

    rows = [["id", "tool", "fields.n"], [7, "t", 8.0], ["007x", "t", 0.1 + 0.2], [9, "t", 1e-7]]
    first, second, third = read(workbook(rows, change=format_id), "c.xlsx").briefs
    assert (first.row, first.request["fields"]["n"]) == ("007", "8")
    assert (second.row, second.request["fields"]["n"]) == ("007x", "0.3")
    assert (third.row, third.request["fields"]["n"]) == ("9", "0.0000001")


def test_text_and_number_are_two_ids(read, workbook):
    rows = [["id", "tool"], ["007", "explainer"], [7, "listicle"]]
    assert [b.row for b in read(workbook(rows), "c.xlsx").briefs] == ["007", "7"]


def test_a_blank_row_does_not_turn_ids_into_decimals(read, workbook):
    rows = [["id", "tool"], [1, "a"], [None, None], [2, "b"]]
    assert [(b.row, b.line) for b in read(workbook(rows), "c.xlsx").briefs] == [("1", 2), ("2", 4)]


def test_it_refuses_numbers_of_more_digits_than_a_spreadsheet_keeps(refuse, workbook):
    problem = only(refuse(workbook([["id", "tool"], [9912140633506421, "t"]]), "c.xlsx"))
    assert problem.startswith('c.xlsx:2 column id (Sheet1!A2): "9912140633506420"')
    assert "which spreadsheets round" in problem


def test_truth_values_are_the_words(read, workbook):
    rows = [["id", "tool", "enabled", "fields.loud"], ["r1", "t", False, True]]
    brief = read(workbook(rows), "c.xlsx").briefs[0]
    assert brief.enabled is False
    assert brief.request["fields"] == {"loud": "TRUE"}


def test_dates_are_iso(read, workbook):
    rows = [["id", "tool", "fields.day"], ["r1", "t", dt.datetime(2026, 3, 4)]]  # noqa: DTZ001
    assert read(workbook(rows), "c.xlsx").briefs[0].request["fields"] == {"day": "2026-03-04"}


@pytest.mark.parametrize("column", ["id", "aspect_ratio", "duration_seconds", "tags", "language"])
def test_what_a_spreadsheet_made_a_date_of_is_refused(refuse, workbook, column):
    """1-2, 9/16 and 1.5 become dates while they are typed."""
    head = dict.fromkeys(["tool", column])
    book = workbook([head, ["t", dt.datetime(2026, 2, 1)]])  # noqa: DTZ001
    problem = only(refuse(book, "c.xlsx"))
    assert '"2026-02-01" is a date that the spreadsheet made of what was typed: ' in problem
    assert "format the column as text" in problem


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (16, "General", "16"),
        (16.0, "0.00", "16"),
        (0.5, "General", "0.5"),
        (dt.time(9, 16), "h:mm", "9:16"),
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


def with_worksheets(**contents):
    """Return what adds worksheets to a workbook, each of these rows."""

    def change(book):
        for title, rows in contents.items():
            added = book.create_sheet(title.replace("_", " "))
            for row in rows:
                added.append(row)

    return change


ROWS = [["id", "tool"], ["r1", "t"]]
NOTES = [["Notes"], ["Ask Ada for the logo"]]


def test_it_reads_the_one_worksheet_with_known_columns_and_says_which(read, workbook):
    change = with_worksheets(Videos=ROWS, Old=NOTES)
    book = workbook([["Spring campaign"], [], ["Title", "Spring"]], title="Cover", change=change)
    sheet = read(book, "c.xlsx")
    assert sheet.briefs[0].row == "r1"
    assert [str(note) for note in sheet.notes] == [
        'c.xlsx has 3 worksheets; "Videos" is read, the one with columns Callsheet knows, '
        'not "Cover", "Old" (--worksheet Videos settles it)'
    ]
    assert not read(book, "c.xlsx", worksheet="videos").notes


def test_it_asks_which_of_several_worksheets_is_the_sheet(refuse, read, workbook):
    book = workbook(NOTES, change=with_worksheets(Spring_26=ROWS, Old=ROWS))
    assert refuse(book, "c.xlsx") == [
        'c.xlsx has 2 worksheets that may be the sheet, "Spring 26", "Old": '
        'choose one with --worksheet "Spring 26"'
    ]
    assert read(book, "c.xlsx", worksheet="old").briefs


def test_a_hidden_worksheet_is_read_only_by_name(refuse, read, workbook):
    def change(book):
        with_worksheets(Data=ROWS, More=[["Ask Ada"]])(book)
        book["Data"].sheet_state = "hidden"

    book = workbook([["Cover"]], change=change)
    assert refuse(book, "c.xlsx") == [
        "c.xlsx has no column Callsheet knows (id, title, tool, script, ...) in any worksheet it "
        'shows ("Sheet1", "More"); --worksheet NAME reads any, also a hidden one'
    ]
    assert read(book, "c.xlsx", worksheet="Data").briefs


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
    lying = rewritten(book, sheet1=lambda xml: xml.replace('ref="A1:D3"', 'ref="A1"'))
    assert len(read(lying, "c.xlsx").briefs) == 2


def test_it_reads_coloured_emptiness_as_nothing(read, workbook):
    def colour(book):
        from openpyxl.styles import PatternFill

        for row in range(3, 1300):
            book.active.cell(row, 30).fill = PatternFill("solid", "FFEE00")

    sheet = read(workbook([HEAD, ["r1", "t", None, None]], change=colour), "c.xlsx")
    assert len(sheet.briefs) == 1


def test_a_cell_right_of_the_header_is_named(refuse, workbook):
    assert refuse(workbook([HEAD, ["r1", "t", None, None, None, "x"]]), "c.xlsx") == [
        'c.xlsx:2 column 6 (Sheet1!F2) "x" stands in a column without a header'
    ]


def test_a_workbook_without_rows_is_a_problem(refuse, workbook):
    assert "has no rows" in only(refuse(workbook([]), "c.xlsx"))
    assert "has no rows" in only(refuse(workbook([HEAD]), "c.xlsx"))


def test_it_refuses_a_zip_bomb_before_unpacking_it(refuse, workbook):
    bomb = io.BytesIO(workbook([HEAD]))
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/zeros.bin", b"\0" * 30_000_000)
    assert "times its size" in only(refuse(bomb.getvalue(), "c.xlsx"))


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
    far = rewritten(book, sheet1=lambda xml: xml.replace("</sheetData>", below + "</sheetData>"))
    tracemalloc.start()
    problems = refuse(far, "c.xlsx")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert words in problems[0]
    # A million lines took a gigabyte.
    assert peak < 100 * 1024 * 1024


def test_it_refuses_xml_entities(refuse, workbook):
    def declare(xml):
        return '<!DOCTYPE x [<!ENTITY a "b">]>' + xml.split("?>", 1)[-1]

    assert "XML entities" in only(refuse(rewritten(workbook([HEAD]), sheet1=declare), "c.xlsx"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PK\x03\x04 and nothing more", "is not a workbook that can be read"),
        (b"id,tool\nr1,t\n", "is not a workbook that can be read"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is a workbook of an old Excel"),
    ],
)
def test_it_refuses_damaged_and_old_workbooks(refuse, content, words):
    assert words in only(refuse(content, "c.xlsx"))


def test_it_refuses_a_workbook_cut_short_or_hollow(refuse, workbook):
    book = workbook([HEAD, ["r1", "t", None, None]])
    assert "is not a workbook" in only(refuse(book[: len(book) // 2], "c.xlsx"))
    broken = rewritten(book, sheet1=lambda xml: xml[: len(xml) // 2])
    assert "is not a workbook" in only(refuse(broken, "c.xlsx"))


def test_it_refuses_a_zip_that_is_no_workbook(refuse):
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("campaign.csv", "id,tool\n")
    assert "not a workbook" in only(refuse(other.getvalue(), "c.zip"))
