"""Merged and hidden cells of a worksheet: understood and said, or refused."""

import pytest

HEAD = ["id", "tool", "title", "topic", "language"]


def rows(*numbers):
    return [[f"r{n}", "explainer", f"Title {n}", None, "en"] for n in numbers]


def merging(*ranges):
    def change(book):
        for cells in ranges:
            book.active.merge_cells(cells)

    return change


def topics(sheet):
    return [brief.request.get("topic") for brief in sheet.briefs]


def test_a_merged_cell_counts_for_every_row_it_reaches(read, workbook):
    videos = rows(1, 2, 3, 4)
    videos[1][3] = "Tea"
    sheet = read(workbook([HEAD, *videos], change=merging("D3:D4")), "c.xlsx")
    assert topics(sheet) == [None, "Tea", "Tea", None]
    assert [str(note) for note in sheet.notes] == [
        "c.xlsx:3 D3:D4 is merged: its value is read for rows 3 to 4"
    ]
    assert dict(sheet.briefs[2].cells)["topic"] == "Tea"


def test_many_merged_cells_are_said_once(read, workbook):
    videos = rows(*range(10))
    ranges = [f"D{n}:D{n + 1}" for n in range(2, 12, 2)]
    for n in range(0, 10, 2):
        videos[n][3] = f"Topic {n}"
    sheet = read(workbook([HEAD, *videos], change=merging(*ranges)), "c.xlsx")
    assert topics(sheet) == [f"Topic {n // 2 * 2}" for n in range(10)]
    assert [str(note) for note in sheet.notes] == [
        "c.xlsx has merged cells (D2:D3, D4:D5, D6:D7 and 2 more): "
        "the value of each is read for all its rows"
    ]


def test_a_line_that_is_only_the_rest_of_a_merged_cell_stays_blank(read, workbook):
    video = ["r1", "explainer", "Tall", "Tea", "en"]
    change = merging("C2:C9", "D2:D9", "A2:A9")
    sheet = read(workbook([HEAD, video], change=change), "c.xlsx")
    assert len(sheet.briefs) == 1
    assert not sheet.notes


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ("A2:A4", "c.xlsx:2 A2:A4 is merged: rows 2 to 4 have one id; unmerge it"),
        ("B3:C3", "c.xlsx:3 B3:C3 is merged over 2 columns (tool, title); unmerge it"),
    ],
)
def test_merged_ids_and_columns_are_refused_once(refuse, workbook, cells, words):
    (problem,) = refuse(workbook([HEAD, *rows(1, 2, 3)], change=merging(cells)), "c.xlsx")
    assert problem.startswith(words)


def test_nameless_columns_and_empty_cells_that_are_merged_are_nothing(read, workbook):
    named = read(workbook([HEAD, *rows(1)], change=merging("E2:G2")), "c.xlsx")
    assert named.briefs[0].request["language"] == "en"
    assert not named.notes
    last = workbook([["script", "id"], ["Hello.", "r1"]], change=merging("B2:C2"))
    assert read(last, "c.xlsx").briefs[0].row == "r1"
    empty = workbook([HEAD, *rows(1, 2)], change=merging("D2:D3", "A9:E9"))
    assert not read(empty, "c.xlsx").notes


def test_a_header_of_two_lines_is_read_by_its_merged_names(read, workbook):
    book = workbook(
        [["id", "Video", None, None, "Language"], [None, "tool", "title", "topic"], *rows(1)],
        change=merging("A1:A2", "B1:D1", "E1:E2"),
    )
    sheet = read(book, "c.xlsx")
    assert sheet.briefs[0].row == "r1"
    assert sheet.briefs[0].request["language"] == "en"
    assert [str(note) for note in sheet.notes] == [
        "c.xlsx has its header in row 2; row 1 above it is not read"
    ]


def hiding(*numbers, columns=()):
    def change(book):
        for number in numbers:
            book.active.row_dimensions[number].hidden = True
        for letter in columns:
            book.active.column_dimensions[letter].hidden = True

    return change


def ids(sheet):
    return [brief.row for brief in sheet.briefs]


ALL = {"r1", "r2", "r3", "r4", "r5"}
HIDDEN = {"r2", "r4", "r5"}


@pytest.mark.parametrize(
    ("wanted", "outcome", "read_rows", "hidden", "skipped"),
    [
        (None, "--visible-only leaves them out, --include-hidden reads them)", ALL, HIDDEN, set()),
        ("read", "they are read", ALL, set(), set()),
        ("skip", "they are left out", {"r1", "r3"}, set(), HIDDEN),
    ],
)
def test_hidden_rows_are_counted_and_treated_as_asked(
    read, workbook, wanted, outcome, read_rows, hidden, skipped
):
    book = workbook([HEAD, *rows(*range(1, 6))], change=hiding(3, 5, 6))
    sheet = read(book, "c.xlsx", hidden_rows=wanted)
    assert (set(ids(sheet)), sheet.hidden, sheet.skipped) == (read_rows, hidden, skipped)
    (note,) = map(str, sheet.notes)
    assert note.startswith("c.xlsx has 3 of its 5 rows hidden (rows 3, 5 to 6): ")
    assert note.endswith(outcome)


def test_hidden_lines_that_are_no_rows_are_not_counted(read, workbook):
    change = hiding(1, 3, 4, 9)
    book = workbook([["Plan"], HEAD, *rows(1), [], ["r2", "t", None, None, None]], change=change)
    (said, note) = map(str, read(book, "c.xlsx").notes)
    assert "header in row 2" in said
    assert "has 1 of its 2 rows hidden (row 3): " in note


def test_what_is_wrong_with_a_row_that_is_left_out_stops_nothing(read, refuse, workbook):
    videos = [*rows(1, 2, 3), ["r1", "explainer", "the old one", None, None], [None, None, "idea"]]
    videos[1][1] = "=A2"
    videos[2][4] = "#N/A"
    book = workbook([HEAD, *videos], change=hiding(3, 4, 5, 6))
    sheet = read(book, "c.xlsx", hidden_rows="skip")
    assert (ids(sheet), sheet.skipped) == (["r1"], {"r2", "r3"})
    assert len(refuse(book, "c.xlsx")) == 4


def test_a_sheet_of_hidden_rows_alone_has_none(refuse, workbook):
    book = workbook([HEAD, *rows(1, 2)], change=hiding(2, 3))
    assert refuse(book, "c.xlsx", hidden_rows="skip") == [
        "c.xlsx has no rows but hidden ones; --include-hidden reads them"
    ]


def test_hidden_columns_are_read_and_said(read, workbook):
    book = workbook(
        [[*HEAD, "x_mine"], [*rows(1)[0], "a"], [*rows(2)[0], "b"]], change=hiding(columns="DEFG")
    )
    assert [str(note) for note in read(book, "c.xlsx").notes] == [
        "c.xlsx has 2 hidden columns (topic, language), read as all others"
    ]


def test_what_is_said_of_another_format_is_told_to_change_nothing(read, workbook):
    csv = "id,tool\nr1,t\n"
    (hidden,) = read(csv, hidden_rows="skip").notes
    assert "does not say which rows were hidden where it was made: all of them are read" in str(
        hidden
    )
    (worksheet,) = read(csv, worksheet="Videos").notes
    assert str(worksheet).endswith("--worksheet is for one: it changes nothing")
    (delimiter,) = read(workbook([HEAD, *rows(1)]), "c.xlsx", delimiter=";").notes
    assert str(delimiter).endswith("--delimiter is for CSV: it changes nothing")
