"""CSV and its relatives, in whatever encoding: strict where a program would guess."""

import pytest

from callsheet.tasks.sheet import text as limits

CSV = 'id,tool,title,fields.offer\nr1,explainer,"One, two",half; price | today\n'


def test_the_delimiter_is_told_by_the_header_alone(read):
    commas = read(CSV).briefs[0].request
    for delimiter in (";", "\t", "|"):
        text = f"id{delimiter}tool{delimiter}title{delimiter}fields.offer\n"
        text += f'r1{delimiter}explainer{delimiter}One, two{delimiter}"half; price | today"\n'
        assert read(text).briefs[0].request == commas
    assert len(read("id;tool;title\n" + "r;t;a, b, c, d\n".replace("r", "r1")).briefs) == 1


def test_it_reads_the_sep_line_of_excel_and_still_counts_lines(read, refuse):
    assert read("sep=;\nid;tool\nr1;explainer\n").briefs[0].line == 3
    assert refuse("sep=;\r\nid;tool;mode\r\nr1;explainer;loud\r\n")[0].startswith(
        'campaign.csv:3 row "r1", column mode: "loud" is not one of'
    )


def test_the_delimiter_of_the_command_line_wins(read, refuse):
    text = "id~tool\nr1~explainer\n"
    assert read(text, delimiter="~").briefs[0].row == "r1"
    assert read(text.replace("~", "\t"), delimiter="tab").briefs[0].row == "r1"
    assert 'the delimiter "::"' in refuse(text, delimiter="::")[0]
    (problem,) = refuse("id;tool\nr1;explainer\nr2;explainer\n", delimiter=",")
    assert "a missing header, or another delimiter?" in problem


def test_it_drops_blank_rows_and_columns_but_keeps_the_line_numbers(read):
    text = "\n,,,\nid,tool,title,,\n\nr1,explainer,One,,\n , ,,,\n\nr2,explainer,Two,,\n,,,,\n"
    sheet = read(text)
    assert [(brief.row, brief.line) for brief in sheet.briefs] == [("r1", 5), ("r2", 8)]
    assert sheet.columns == ("id", "tool", "title")
    assert read("id,tool\nr1,explainer,\nr2,listicle,\n").briefs[0].row == "r1"
    lines = read('id,script\r\nr1,"one\r\n\r\ntwo"\r\nr2,three\r\n').briefs
    assert [brief.line for brief in lines] == [2, 5]


def test_rows_with_more_cells_than_the_header_are_refused_even_when_all_have_more(refuse):
    """pandas would take the first column for an index and move all others."""
    problems = refuse("id,tool,title\nr1,explainer,Hello, world\nr2,explainer,Bye, world\n")
    words = "has 4 cells, the header has 3: put a cell that has the delimiter in it between quotes"
    assert problems == [f'campaign.csv:{line} {words} (")' for line in (2, 3)]


HEAD = "id,tool,title\n"
TOO_MANY = ",".join(["id", "tool", *(f"x_{n}" for n in range(limits.MAX_COLUMNS))]) + "\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (HEAD + "r1,explainer\n", ":2 has 2 cells, the header has 3: a delimiter is missing"),
        (HEAD + "r1,explainer,“Hello, world”\n", ":2 has 4 cells, the header has 3: curly quotes"),
        (HEAD + 'r1,t,One\nr2,t,"Two\nr3,t,Three\n', ':3 opens a quote (") that is never closed'),
        (HEAD + 'r1,t,"Say "hi" now"\n', ':2 has a quote (") inside a quoted cell'),
        (HEAD + "r1,t,#REF!\n", ':2 row "r1", column title: "#REF!" is an error of the spreads'),
        (HEAD + "r1,t,a\x01b\n", ':2 row "r1", column title: '),
        (HEAD + "r1,t,a\x7fb\n", ':2 row "r1", column title: '),
        ("", " has no rows"),
        ("\n\n", " has no rows"),
        (",,,\n", " has no rows"),
        ("id,tool\n", " has no rows"),
        ("\ufeff", " has no rows"),
        (b"id,tool\nr1,\x81\n", ":2 is neither UTF-8 nor Windows-1252; save it as CSV UTF-8"),
        (b"\xff\xfe\x00\xd8\x00\x00", " is damaged"),
        ("id,tool\nr1,ex\0plainer\n", ":2 holds a NUL character; save it as CSV UTF-8"),
        (b"x" * (limits.MAX_BYTES + 1), " has 20 MiB; a sheet may have 20 MiB: split it"),
        ("id,tool\n" + "\n" * limits.MAX_LINES + "r1,t\n", " has more than 1,048,576 lines"),
        (TOO_MANY, " has 202 columns; 200 is the limit"),
        (f"id,script\nr1,{'x' * 100_001}\n", ':2 row "r1", column script: "xxx'),
        ('id,script\nr1,"' + "one two\n" * 20_000,
         ":2 begins a cell of more than 131,072 characters: is a closing quote"),
        ("\n<!DOCTYPE html><html><body>Sign in</body></html>", " is a web page, not a sheet"),
        pytest.param("id,tool\n" + "".join(f"r{n},t\n" for n in range(limits.MAX_ROWS + 1)),
                     " has more than 100,000 rows; split it", marks=pytest.mark.merge),
    ],
    ids=lambda one: None if len(one) > 100 else str(one),
)  # fmt: skip
def test_a_broken_or_endless_sheet_ends_in_one_sentence(refuse, content, words):
    (problem,) = refuse(content)
    assert problem.startswith(f"campaign.csv{words}")


def test_a_control_character_is_named_and_a_long_cell_counted(refuse):
    assert "U+001B" in refuse(f"{HEAD}r1,explainer,a\x1bb\n")[0]
    told = refuse(f"id,script\nr1,{'x' * 100_001}\n")[0]
    assert told.endswith("has 100,001 characters; 100,000 is the limit")


@pytest.mark.merge
def test_it_reads_a_large_sheet(read):
    text = "id,tool,title,fields.a\n" + "".join(f"r{n},t,Video {n},x\n" for n in range(20_000))
    assert len(read(text).briefs) == 20_000


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("“Hello”", "“Hello”"),
        ('A 5" screen', 'A 5" screen'),
        (' "One, two"', "One, two"),
        ("'tis spring", "'tis spring"),
        # What pandas takes for nothing is text.
        *((word, word) for word in ("NA", "N/A", "null", "None", "nan", "-")),
        # A status sheet escapes what would be a formula.
        *((f"'{sign}SUM(A1)", f"{sign}SUM(A1)") for sign in "=+-@"),
    ],
)
def test_a_text_is_what_was_typed(read, typed, title):
    brief = read(f"id, tool, title\nr1, explainer,{typed}\n").briefs[0]
    assert brief.title == title
    quoted = title.replace('"', '""')
    assert brief == read(f'id,tool,title\nr1,explainer,"{quoted}"\n').briefs[0]


def test_an_error_of_a_spreadsheet_may_stand_in_a_column_of_your_own(read):
    assert [*read("id,tool,x_sum\nr1,explainer,#REF!\n").briefs[0].cells][2] == ("x_sum", "#REF!")


TEXT = "id,tool,fields.product,title\nr1,explainer,Kessel,Schöner “Tee” für dich\n"
GERMAN = "id;tool;title;;\r\nk1;explainer;Tee – „für dich“, heiß;;\r\n" + ";;;;\r\n" * 1000


@pytest.mark.parametrize(
    ("content", "notes"),
    [
        (GERMAN.encode("cp1252"), 1),
        (GERMAN.encode("utf-8-sig"), 0),
        (("sep=;\r\n" + GERMAN).encode("utf-16"), 0),
        (GERMAN.replace(";", "\t").encode("utf-16"), 0),
        (GERMAN.replace(",", "@").replace(";", ",").replace("Tee", '"Tee').replace(
            "@ heiß", ', heiß"').encode(), 0),
    ],
    ids=["Excel", "CSV UTF-8", "sep", "Unicode text", "Google"],
)  # fmt: skip
def test_exports_are_read_as_programs_write_them(read, content, notes):
    sheet = read(content)
    assert [brief.title for brief in sheet.briefs] == ["Tee – „für dich“, heiß"]
    assert len(sheet.notes) == notes


def test_the_encoding_and_the_ends_of_lines_change_nothing(read):
    saved = [TEXT.encode(encoding) for encoding in ("utf-8-sig", "utf-16", "utf-32")]
    saved += [b"\xff\xfe" + TEXT.encode("utf-16-le"), b"\xfe\xff" + TEXT.encode("utf-16-be")]
    saved += [TEXT.replace("\n", end).encode() for end in ("\r\n", "\r")]
    for content in saved:
        sheet = read(content)
        assert sheet.briefs == read(TEXT).briefs
        assert not sheet.advice


def test_it_reads_windows_1252_and_quotes_what_it_guessed(read):
    """Latin-1 would turn the curly quotes of Windows into control characters."""
    sheet = read(TEXT.encode("cp1252"))
    assert sheet.briefs[0].digest == read(TEXT).briefs[0].digest
    note = str(sheet.notes[0])
    assert "Windows-1252" in note
    assert '"Schöner “Tee” für dich"' in note
