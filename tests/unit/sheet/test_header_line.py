"""The header is found below a title, said, and never guessed."""

import pytest

from callsheet.tasks.runtime.errors import SheetError
from callsheet.tasks.sheet import SheetOptions
from callsheet.tasks.sheet.read import find_sheet_in

HEAD = ["id", "tool", "Title"]
VIDEO = ["r1", "explainer", "One"]
LOGO = ["", "", ""]


@pytest.mark.parametrize(
    ("above", "header"),
    [
        ([["Spring campaign 2026"], LOGO, ["Ask Ada, please", "", "v2"]], 4),
        ([["Notes"]], 2),
        ([[], ["Title", "Spring", "Language", "de"]], 3),
        ([["", "Group", ""]] * 15, 16),
    ],
)
def test_it_finds_the_header_below_other_lines_and_says_so(read, refuse, table, above, header):
    content, name, line = table([*above, HEAD, VIDEO])
    sheet = read(content, name)
    assert (sheet.briefs[0].row, sheet.briefs[0].line) == ("r1", header + 1)
    lost = f"{line} 1 above it is" if header == 2 else f"{line}s 1 to {header - 1} above it are"
    assert [str(note) for note in sheet.notes] == [
        f"{name} has its header in {line} {header}; {lost} not read"
    ]
    content, name, line = table([*above, [*HEAD, "mode"], [*VIDEO, "loud"]])
    where = f'{name}:{header + 1} row "r1", column mode'
    assert refuse(content, name)[0].startswith(where)


@pytest.mark.parametrize(
    "rows",
    [
        [HEAD, VIDEO],
        [[], [], HEAD, VIDEO],
        [["Script"], ["Hello"]],
        [["Script", "x_mine"], ["Hello", "a"]],
        [HEAD, ["tool", "explainer", "id"]],
        [["id", "script", "x_a", "x_b", "x_c", "cs_row"], ["r1", "a", "", "", "", ""]],
    ],
)
def test_a_first_line_that_is_the_header_is_left_alone(read, table, rows):
    content, name, _ = table(rows)
    assert not read(content, name).notes


def test_unknown_columns_of_a_first_line_are_still_named(refuse, table):
    content, name, _ = table([["id", "Wer", "Wie"], ["r1", "a", "b"]])
    assert len(refuse(content, name)) == 2


def test_two_lines_that_may_be_the_header_are_refused(refuse, table):
    content, name, line = table([["Plan"], HEAD, VIDEO, [], ["Script", "Language"], ["Hi", "de"]])
    assert refuse(content, name) == [
        f"{name}:5 may have its header in {line}s 2 and 5: keep one table in a sheet"
    ]


def test_a_line_that_repeats_the_header_is_no_row(read, table):
    content, name, line = table([HEAD, VIDEO, HEAD, ["r2", "explainer", "Two"]])
    sheet = read(content, name)
    assert [brief.line for brief in sheet.briefs] == [2, 4]
    assert [str(note) for note in sheet.notes] == [
        f"{name}:3 repeats the header in {line} 1 and is not read"
    ]


def test_it_does_not_look_further_than_twenty_lines(refuse, table):
    content, name, line = table([*[["a", "b"]] * 20, HEAD, VIDEO])
    assert all("is not a column Callsheet knows" in one for one in refuse(content, name)[:2])
    content, name, line = table([["a"]])
    (problem,) = refuse(content, name)
    assert problem.startswith(
        f"{name}:1 has no column Callsheet knows (id, title, tool, script, ...) in its first "
        f'20 {line}s; this one says "a"'
    )
    assert ("delimiter" in problem) == (name == "c.csv")


OWN = ["Nummerchen", "Satz", "Sprechtext", "Wer"]
OWN_ROW = ["r1", "Run", "Run further, today; all day.", "Ada"]
MEANT = {"Nummerchen": "id", "Satz": "title", "Sprechtext": "script", "Wer": "x_who"}


@pytest.mark.parametrize("above", [[], [["Spring 2026, v2, by Ada, for all, again"], []]])
def test_a_sheet_whose_headers_are_all_unknown_is_read_as_a_person_says(refuse, read, table, above):
    content, name, _ = table([*above, OWN, OWN_ROW])
    assert read(content, name, columns=MEANT).briefs[0].title == "Run"
    # Two names are enough to find the header.
    said = refuse(content, name, columns={"Satz": "title", "Sprechtext": "script"})
    assert [one.partition('"')[2].partition('"')[0] for one in said[:2]] == [OWN[0], OWN[3]]


def test_without_a_known_header_the_widest_line_is_shown_to_be_named(table):
    content, name, line = table([["Spring 2026"], OWN, OWN_ROW])
    raw = content if isinstance(content, bytes) else content.encode()
    found = find_sheet_in(raw, name=name, options=SheetOptions())
    assert [(one.name, one.column, one.filled) for one in found.columns] == [
        (header, None, 1) for header in OWN
    ]
    assert f"{line} 2 is taken for its header" in str(found.notes[0])
    with pytest.raises(SheetError):
        found.good()


def test_a_title_with_commas_does_not_settle_the_delimiter(read):
    text = "Spring, v2, by Ada, for all\n\nid;tool\nr1;explainer\n"
    assert read(text).briefs[0].line == 4


def test_words_in_the_rows_do_not_settle_the_delimiter(read):
    text = "id;tool;fields.say\nr1;explainer;id, title, tool, script\n"
    assert read(text).briefs[0].request["fields"] == {"say": "id, title, tool, script"}
