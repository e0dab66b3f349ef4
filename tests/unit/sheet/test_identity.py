"""Row ids and campaign names: safe as a file, a key and a spreadsheet cell."""

import pytest

from callsheet.tasks.sheet.text import campaign_fault, content_id, row_id_fault


@pytest.mark.parametrize("name", ["a", "r1", "007", "7", "Spring_1.2-b", "9-16", "x" * 80, "1.10"])
def test_it_accepts_plain_ids(name):
    assert row_id_fault(name) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../etc/passwd", "two dots"),
        ("a..b", "two dots"),
        ("a/b", 'try "a-b"'),
        ("a\\b", 'try "a-b"'),
        ("spring launch", 'try "spring-launch"'),
        ("größe", 'try "grosse"'),
        (".hidden", 'try "hidden"'),
        ("-flag", 'try "flag"'),
        ("ends.", "ends in a dot"),
        ("CON", 'try "row-CON"'),
        ("nul.txt", "device on Windows"),
        ("Com1", "device on Windows"),
        ("x" * 81, "at most 80"),
        ("😀", "is not an id"),
        ("a\u200bb", "is not an id"),
    ],
)
def test_it_refuses_ids_that_are_not_safe_everywhere(name, words):
    assert words in (row_id_fault(name) or "")


@pytest.mark.parametrize("name", ["1E+5", "1e5", "73928e05", "1,5E-3"])
def test_it_refuses_ids_that_a_spreadsheet_has_rewritten(name):
    assert "spreadsheet has rewritten" in (row_id_fault(name) or "")


TWICE = "of line 2 too: every row needs one of its own"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,tool\n9912140633506421,t\n", ':2 column id: "9912140633506421" has more than 15 dig'),
        ("id,tool\nSpring,t\nr2,t\nSPRING,t\n", ':4 column id: "SPRING" is but for its capitals'),
        ("id,tool\nr1,t\nr1,t\n", f':3 column id: "r1" is the id {TWICE}'),
        ("tool,title\nt,One\nt,One\n", ':3 "One" asks for the same video as line 2 (both without'),
    ],
)
def test_ids_that_cannot_be_told_apart_are_refused(refuse, text, words):
    (problem,) = refuse(text)
    assert problem.startswith(f"campaign.csv{words}")
    assert row_id_fault("9" * 15) is None


def test_a_row_without_an_id_gets_one_from_its_content_and_not_its_position(read):
    one = read("tool,title\nexplainer,One\nexplainer,Two\n")
    other = read("title,tool\nTwo,explainer\nZero,explainer\nOne,explainer\n")
    ids = {brief.title: brief.row for brief in one.briefs}
    assert ids.items() <= {brief.title: brief.row for brief in other.briefs}.items()
    assert ids["One"] == content_id("create", {"tool": "explainer", "title": "One"})
    assert row_id_fault(ids["One"]) is None
    assert ids["One"].startswith("r_")
    assert len(ids["One"]) == 14


def test_ids_are_recommended_once_and_with_them_two_rows_alike_are_two_videos(read):
    (advice,) = read("tool,title\nexplainer,One\nexplainer,Two\n").advice
    assert "has 2 rows without an id (from line 2 on)" in str(advice)
    first, second = read("id,tool\n007,explainer\n7,explainer\n").briefs
    assert (first.row, second.row) == ("007", "7")
    assert first.digest == second.digest


def test_the_campaigns_name_comes_from_the_option_then_the_sheet_then_the_file(read):
    sheet = "campaign: from-sheet\nrows: [{id: r1, tool: t}]\n"
    assert read(sheet, "from-file.yaml", campaign="from-option").campaign == "from-option"
    assert read(sheet, "from-file.yaml").campaign == "from-sheet"
    assert read("id,tool\nr1,t\n", "Frühling 2026 (final).csv").campaign == "fruhling-2026-final"


def test_standard_input_needs_a_campaign_and_a_name_is_proposed(refuse):
    assert "say --campaign NAME" in refuse("id,tool\nr1,t\n", "stdin")[0]
    (problem,) = refuse("id,tool\nr1,t\n", campaign="Spring Launch")
    assert 'campaign.csv --campaign "Spring Launch" is not a campaign\'s name' in problem
    assert problem.endswith('try "spring-launch"')


@pytest.mark.parametrize("name", ["Spring", "a b", "../up", "con", "", "a/b", ".x", "x" * 81])
def test_it_refuses_unsafe_campaign_names(name):
    assert campaign_fault(name)
