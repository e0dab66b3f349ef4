"""Every kind of cell: what is understood, what is refused, and in which words."""

from decimal import Decimal

import pytest


def cell(column, value):
    return f'id,tool,{column}\nr1,explainer,"{value}"\n'


@pytest.mark.parametrize(
    ("value", "ratio"),
    [
        ("9:16", "9:16"),
        ("9x16", "9:16"),
        ("9 X 16", "9:16"),
        ("16×9", "16:9"),
        ("1/1", "1:1"),
        ("9：16", "9:16"),
        ("Portrait", "9:16"),
        ("square", "1:1"),
        ("LANDSCAPE", "16:9"),
        ("9:16\u200b", "9:16"),
    ],
)
def test_it_understands_an_aspect_ratio(read, value, ratio):
    sheet = read(cell("aspect_ratio", value))
    assert sheet.briefs[0].request["aspect_ratio"] == ratio
    assert not sheet.advice


@pytest.mark.parametrize(
    ("value", "ratio"),
    [
        ("09:16", "9:16"),
        ("09:16:00", "9:16"),
        ("9:16:00", "9:16"),
        ("16:09:00", "16:9"),
        ("01:01:00", "1:1"),
        ("9:16 AM", "9:16"),
        ("4:09:00 PM", "16:9"),
    ],
)
def test_it_recovers_an_aspect_ratio_from_a_time_and_says_so(read, value, ratio):
    sheet = read(cell("aspect_ratio", value))
    assert sheet.briefs[0].request["aspect_ratio"] == ratio
    assert str(sheet.advice[0]) == (
        f'campaign.csv:2 row "r1", column aspect_ratio: "{value}" is a time of day that a '
        f"spreadsheet made of it; it is read as {ratio}"
    )


@pytest.mark.parametrize("value", ["4:5", "556", "16:9:30", "wide", "9:16:16", "19:16"])
def test_it_refuses_other_aspect_ratios(refuse, value):
    assert refuse(cell("aspect_ratio", value)) == [
        f'campaign.csv:2 row "r1", column aspect_ratio: "{value}" is not one of 9:16, 1:1, 16:9'
    ]


@pytest.mark.parametrize("value", ["talking-head", "Talking Head", "talking_head"])
def test_it_understands_modes_and_styles_however_joined(read, value):
    for column in ("mode", "style"):
        assert read(cell(column, value)).briefs[0].request[column] == "talking-head"


def test_it_refuses_other_modes_and_styles(refuse):
    assert refuse("id,tool,mode,style\nr1,explainer,loud,hybrid\n") == [
        'campaign.csv:2 row "r1", column mode: "loud" is not one of talking-head, cinematic, '
        "hybrid, stock-narrated, smart-mix",
        'campaign.csv:2 row "r1", column style: "hybrid" is not one of talking-head, cinematic',
    ]


@pytest.mark.parametrize(("value", "seconds"), [("8", 8), (" 12 ", 12), ("8.0", 8)])
def test_it_understands_seconds(read, value, seconds):
    assert read(cell("duration_seconds", value)).briefs[0].request["duration_seconds"] == seconds


@pytest.mark.parametrize("value", ["0", "-3", "8.5", "8s", "1:30", "1,200", "eight", "1e3"])
def test_it_refuses_other_durations(refuse, value):
    assert refuse(cell("duration_seconds", value)) == [
        f'campaign.csv:2 row "r1", column duration_seconds: "{value}" '
        "is not a whole number of seconds above 0, like 12"
    ]


@pytest.mark.parametrize("value", ["true", "TRUE", "Yes", "y", "1"])
def test_it_understands_yes(read, value):
    assert read(cell("enabled", value)).briefs[0].enabled is True


@pytest.mark.parametrize("value", ["false", "FALSE", "No", "n", "0"])
def test_it_understands_no_and_keeps_the_row(read, value):
    assert read(cell("enabled", value)).briefs[0].enabled is False


@pytest.mark.parametrize("value", ["WAHR", "ja", "oui", "on", "2", "1.0"])
def test_it_refuses_other_truths(refuse, value):
    assert refuse(cell("enabled", value)) == [
        f'campaign.csv:2 row "r1", column enabled: "{value}" is neither true nor false; '
        "write true, false, yes, no, y, n, 1 or 0"
    ]


@pytest.mark.parametrize(
    ("value", "formats"),
    [
        ("", ("srt", "vtt")),
        ("both", ("srt", "vtt")),
        ("VTT", ("vtt",)),
        ("srt", ("srt",)),
        ("vtt, srt", ("srt", "vtt")),
        ("srt,vtt", ("srt", "vtt")),
        ("srt vtt", ("srt", "vtt")),
        ("VTT  Srt", ("srt", "vtt")),
        ("srt+vtt", ("srt", "vtt")),
        ("Vtt + SRT", ("srt", "vtt")),
        ("srt,", ("srt",)),
        ("none", ()),
    ],
)
def test_it_understands_captions(read, value, formats):
    assert read(cell("captions", value)).briefs[0].captions == formats


@pytest.mark.parametrize("value", ["yes", "ass", "srt, none", "srt,txt", "srtvtt", "both+srt", "+"])
def test_it_refuses_other_captions(refuse, value):
    assert refuse(cell("captions", value)) == [
        f'campaign.csv:2 row "r1", column captions: "{value}" is not one of srt, vtt, both, none'
    ]


@pytest.mark.parametrize(("value", "amount"), [("40", "40"), ("12.50", "12.5"), ("0", "0")])
def test_it_understands_amounts(read, value, amount):
    assert read(cell("max_credits", value)).briefs[0].max_credits == Decimal(amount)


@pytest.mark.parametrize("value", ["1,200", "1.200,50", "-1", "1e3", "1_000", "12 credits", "inf"])
def test_it_refuses_ambiguous_amounts(refuse, value):
    assert refuse(cell("max_credits", value)) == [
        f'campaign.csv:2 row "r1", column max_credits: "{value}" is not an amount of credits; '
        "write it like 1200 or 12.5"
    ]


def test_it_understands_priorities_tags_and_the_rest(read):
    sheet = read(
        "id,tool,priority,tags,cost_center,notes,character_id\n"
        'r1,explainer,-5," a , b,a,, c",MKT-1,"two\nlines",12\n'
    )
    brief = sheet.briefs[0]
    assert (brief.priority, brief.tags, brief.cost_center) == (-5, ("a", "b", "c"), "MKT-1")
    assert brief.notes == "two\nlines"
    assert brief.request == {"tool": "explainer", "character_id": 12}


def test_empty_cells_are_absent(read):
    sheet = read("id,tool,title,duration_seconds,fields.offer,enabled\nr1,explainer, ,,\u00a0,\n")
    assert sheet.briefs[0].request == {"tool": "explainer"}
    assert sheet.briefs[0].enabled is True


def test_cells_are_trimmed_outside_and_kept_inside(read):
    title = read(cell("title", "\ufeff  a  b \u200b")).briefs[0].request["title"]
    assert title == "a  b"


def test_every_problem_is_told_at_once_from_the_top(refuse):
    problems = refuse(
        "id,tool,mode,enabled,aspect_ratio\nr1,explainer,loud,maybe,4:5\nr 2,explainer,,,\nr3,,,,\n"
    )
    assert [problem.partition(" is not")[0] for problem in problems] == [
        'campaign.csv:2 row "r1", column mode: "loud"',
        'campaign.csv:2 row "r1", column aspect_ratio: "4:5"',
        'campaign.csv:2 row "r1", column enabled: "maybe" is neither true nor false; '
        "write true, false, yes, no, y, n, 1 or 0",
        'campaign.csv:3 column id: "r 2"',
        'campaign.csv:4 row "r3" has neither a tool nor a script: give one of them',
    ]
