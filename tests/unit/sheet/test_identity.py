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


@pytest.mark.parametrize("name", ["1E+5", "1e5", "73928e05", "9.9E+15", "1,5E-3"])
def test_it_refuses_ids_that_a_spreadsheet_has_rewritten(name):
    assert "spreadsheet has rewritten" in (row_id_fault(name) or "")


def test_it_refuses_ids_of_more_digits_than_a_spreadsheet_keeps(refuse):
    assert row_id_fault("9" * 15) is None
    assert refuse("id,tool\n9912140633506421,explainer\n") == [
        'campaign.csv:2 column id: "9912140633506421" has more than 15 digits, '
        "which spreadsheets round; give it a letter in front"
    ]


def test_zeros_in_front_stay(read):
    assert [b.row for b in read("id,tool\n007,explainer\n7,listicle\n").briefs] == ["007", "7"]


def test_it_refuses_ids_that_are_one_file_on_some_system(refuse):
    assert refuse("id,tool\nSpring,explainer\nr2,explainer\nSPRING,listicle\n") == [
        'campaign.csv:4 column id: "SPRING" is but for its capitals the id of line 2 too: '
        "every row needs one of its own"
    ]


def test_it_refuses_the_same_id_twice(refuse):
    assert refuse("id,tool\nr1,explainer\nr1,listicle\n") == [
        'campaign.csv:3 column id: "r1" is the id of line 2 too: every row needs one of its own'
    ]


def test_a_row_without_an_id_gets_one_from_its_content_and_not_its_position(read):
    one = read("tool,title\nexplainer,One\nexplainer,Two\n")
    other = read("title,tool\nTwo,explainer\nZero,explainer\nOne,explainer\n")
    ids = {brief.title: brief.row for brief in one.briefs}
    assert ids.items() <= {brief.title: brief.row for brief in other.briefs}.items()
    assert ids["One"] == content_id("create", {"tool": "explainer", "title": "One"})
    assert row_id_fault(ids["One"]) is None
    assert ids["One"].startswith("r_")
    assert len(ids["One"]) == 14


def test_it_recommends_ids_once(read):
    (advice,) = read("tool,title\nexplainer,One\nexplainer,Two\n").advice
    assert "has 2 rows without an id (from line 2 on)" in str(advice)


def test_two_rows_alike_without_ids_are_a_question(refuse):
    (problem,) = refuse("tool,title\nexplainer,One\nexplainer,One\n")
    assert problem == (
        'campaign.csv:3 "One" asks for the same video as line 2 (both without an id): '
        "delete one, or give each an id if two videos are wanted"
    )


def test_two_rows_alike_with_ids_are_two_videos(read):
    first, second = read("id,tool\na,explainer\nb,explainer\n").briefs
    assert first.digest == second.digest


def test_the_campaigns_name_comes_from_the_option_then_the_sheet_then_the_file(read):
    sheet = "campaign: from-sheet\nrows: [{id: r1, tool: t}]\n"
    assert read(sheet, "from-file.yaml", campaign="from-option").campaign == "from-option"
    assert read(sheet, "from-file.yaml").campaign == "from-sheet"
    assert read("id,tool\nr1,t\n", "Frühling 2026 (final).csv").campaign == "fruhling-2026-final"


def test_standard_input_needs_a_campaign(read, refuse):
    assert "say --campaign NAME" in refuse("id,tool\nr1,t\n", "stdin")[0]
    assert read("id,tool\nr1,t\n", "stdin", campaign="spring").campaign == "spring"


@pytest.mark.parametrize("name", ["Spring", "a b", "../up", "con", "", "a/b", ".x", "x" * 81])
def test_it_refuses_unsafe_campaign_names(name):
    assert campaign_fault(name)


def test_it_proposes_a_campaigns_name(refuse):
    assert refuse("id,tool\nr1,t\n", campaign="Spring Launch") == [
        'campaign.csv --campaign "Spring Launch" is not a campaign\'s name: at most 80 small '
        "letters, digits, dots, dashes and underscores, a letter or digit first; "
        'try "spring-launch"'
    ]
