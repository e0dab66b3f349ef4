"""CSV and its relatives: strict where a program would guess."""

import pytest

CSV = 'id,tool,title,fields.offer\nr1,explainer,"One, two",half; price | today\n'


def test_it_reads_semicolons_tabs_and_pipes_by_the_header_alone(read):
    commas = read(CSV).briefs[0].request
    for delimiter in (";", "\t", "|"):
        text = f"id{delimiter}tool{delimiter}title{delimiter}fields.offer\n"
        text += f'r1{delimiter}explainer{delimiter}One, two{delimiter}"half; price | today"\n'
        assert read(text).briefs[0].request == commas


def test_commas_in_the_rows_do_not_change_the_delimiter(read):
    text = "id;tool;title\n" + "".join(f"r{n};explainer;a, b, c, d, {n}\n" for n in range(9))
    assert len(read(text).briefs) == 9


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


def test_a_wrong_delimiter_is_one_problem_and_not_one_per_row(refuse):
    (problem,) = refuse("id;tool\nr1;explainer\nr2;explainer\n", delimiter=",")
    assert "a missing header, or another delimiter?" in problem


def test_it_drops_blank_rows_and_columns_but_keeps_the_line_numbers(read):
    text = "\n,,,\nid,tool,title,,\n\nr1,explainer,One,,\n , ,,,\n\nr2,explainer,Two,,\n,,,,\n"
    sheet = read(text)
    assert [(brief.row, brief.line) for brief in sheet.briefs] == [("r1", 5), ("r2", 8)]
    assert sheet.columns == ("id", "tool", "title")


def test_a_comma_too_many_at_the_end_of_every_row_moves_nothing(read):
    assert read("id,tool\nr1,explainer,\nr2,listicle,\n").briefs[0].row == "r1"


def test_it_refuses_rows_with_more_cells_than_the_header_even_when_all_have(refuse):
    """pandas would take the first column for an index and move all others."""
    problems = refuse("id,tool,title\nr1,explainer,Hello, world\nr2,explainer,Bye, world\n")
    assert problems == [
        "campaign.csv:2 has 4 cells, the header has 3: "
        'put a cell that has the delimiter in it between quotes (")',
        "campaign.csv:3 has 4 cells, the header has 3: "
        'put a cell that has the delimiter in it between quotes (")',
    ]


def test_it_refuses_rows_with_fewer_cells(refuse):
    assert refuse("id,tool,title\nr1,explainer\n") == [
        "campaign.csv:2 has 2 cells, the header has 3: a delimiter is missing"
    ]


def test_curly_quotes_stay_in_the_text(read):
    assert read("id,tool,title\nr1,explainer,“Hello”\n").briefs[0].title == "“Hello”"


GERMAN = "id;tool;title;;\r\nk1;explainer;Tee – „für dich“, heiß;;\r\n" + ";;;;\r\n" * 1000


@pytest.mark.parametrize(
    ("content", "notes"),
    [
        (GERMAN.encode("cp1252"), 1),
        (GERMAN.encode(), 0),
        (GERMAN.encode("utf-8-sig"), 0),
        (("sep=;\r\n" + GERMAN).encode("utf-16"), 0),
        (GERMAN.replace(";", "\t").encode("utf-16"), 0),
        (GERMAN.replace(",", "@").replace(";", ",").replace("Tee", '"Tee').replace(
            "@ heiß", ', heiß"').encode(), 0),
    ],
    ids=["Excel", "Google with semicolons", "CSV UTF-8", "sep", "Unicode text", "Google"],
)  # fmt: skip
def test_exports_are_read_as_programs_write_them(read, content, notes):
    sheet = read(content)
    assert [brief.title for brief in sheet.briefs] == ["Tee – „für dich“, heiß"]
    assert len(sheet.notes) == notes


def test_it_explains_that_curly_quotes_hold_nothing_together(refuse):
    (problem,) = refuse("id,tool,title\nr1,explainer,“Hello, world”\n")
    assert "curly quotes do not hold a cell together" in problem


def test_it_counts_the_lines_of_cells_with_line_breaks(read):
    sheet = read('id,script\r\nr1,"one\r\n\r\ntwo"\r\nr2,three\r\n')
    assert [brief.line for brief in sheet.briefs] == [2, 5]


def test_it_names_the_line_that_opens_a_quote_and_never_closes_it(refuse):
    text = 'id,tool,title\nr1,explainer,One\nr2,explainer,"Two\nr3,explainer,Three\n'
    assert refuse(text) == ['campaign.csv:3 opens a quote (") that is never closed']


def test_it_refuses_a_stray_quote(refuse):
    (problem,) = refuse('id,tool,title\nr1,explainer,"Say "hi" now"\n')
    assert problem.startswith('campaign.csv:2 has a quote (") inside a quoted cell')


def test_inches_are_just_text(read):
    assert read('id,tool,title\nr1,explainer,A 5" screen\n').briefs[0].title == 'A 5" screen'


def test_a_space_before_a_quote_does_no_harm(read):
    text = 'id, tool, title\nr1, explainer, "One, two"\n'
    assert read(text).briefs[0].title == "One, two"


@pytest.mark.parametrize("word", ["NA", "N/A", "null", "None", "nan", "NaN", "-"])
def test_words_that_pandas_takes_for_nothing_are_text(read, word):
    assert read(f"id,tool,title\nr1,explainer,{word}\n").briefs[0].request["title"] == word


def test_the_spreadsheets_errors_are_refused_in_a_csv_too(refuse, read):
    assert refuse("id,tool,title\nr1,explainer,#REF!\n") == [
        'campaign.csv:2 row "r1", column title: "#REF!" is an error of the spreadsheet, not a value'
    ]
    assert [*read("id,tool,x_sum\nr1,explainer,#REF!\n").briefs[0].cells][2] == ("x_sum", "#REF!")


@pytest.mark.parametrize("content", ["", "\n\n", ",,,\n", "id,tool\n", "\ufeff"])
def test_a_sheet_without_rows_is_a_problem(refuse, content):
    assert "has no rows" in refuse(content)[0]


@pytest.mark.parametrize("sign", "=+-@")
def test_it_takes_the_escape_of_a_status_sheet_off_again(read, sign):
    escaped = read(f"id,tool,title\nr1,explainer,'{sign}SUM(A1)\n").briefs[0]
    assert escaped.title == f"{sign}SUM(A1)"
    assert escaped == read(f"id,tool,title\nr1,explainer,{sign}SUM(A1)\n").briefs[0]


def test_other_apostrophes_stay(read):
    assert read("id,tool,title\nr1,explainer,'tis spring\n").briefs[0].title == "'tis spring"
