"""Every kind of cell: what is understood, what is refused, and in which words."""

import csv
import io

import pytest

from tests.unit.sheet.spellings import READ, REFUSED, wanted


def table(column, *values):
    """Return a CSV with a row for each of these cells of one column."""
    rows = [{"id": f"r{n}", "tool": "explainer", "title": "x", column: value}
            for n, value in enumerate(values, start=1)]  # fmt: skip
    out = io.StringIO(newline="")
    csv.writer(out).writerows([rows[0], *(row.values() for row in rows)])
    return out.getvalue()


def pairs(spelled):
    return [(column, *pair) for column, values in spelled.items() for pair in values]


@pytest.mark.parametrize(("column", "value", "meant"), pairs(READ))
def test_it_understands_a_value_as_people_type_it(read, column, value, meant):
    brief = read(table(column, value)).briefs[0]
    found = {"id": brief.row}.get(column, brief.request.get(column, getattr(brief, column, None)))
    assert found == wanted(column, meant)


@pytest.mark.parametrize(("column", "value", "words"), pairs(REFUSED))
def test_it_refuses_what_nobody_can_know(refuse, column, value, words):
    assert refuse(table(column, value)) == [
        f'campaign.csv:2 row "r1", column {column}: "{value}" {words}'
    ]


@pytest.mark.parametrize(
    ("value", "ratio"),
    [("09:16", "9:16"), ("09:16:00", "9:16"), ("16:09:00", "16:9"), ("01:01:00", "1:1"),
     ("9:16 AM", "9:16"), ("4:09:00 PM", "16:9")],
)  # fmt: skip
def test_it_recovers_an_aspect_ratio_from_a_time_and_says_so(read, value, ratio):
    sheet = read(table("aspect_ratio", value))
    assert sheet.briefs[0].request["aspect_ratio"] == ratio
    (note,) = map(str, sheet.notes)
    assert note.startswith(f'campaign.csv:2 column aspect_ratio: "{value}" is a time of day')
    assert note.endswith(f"it is read as {ratio}")


def test_a_range_settles_what_is_open(read, refuse):
    sheet = "id,operation,clip,character_id,duration_seconds\na,character-swap,c,4,"
    for value, seconds in (("8,000", 8), ("00:06:00", 6), ("0:45", 45), ("1 min", 60)):
        assert read(f'{sheet}"{value}"\n').briefs[0].request["duration_seconds"] == seconds
    assert refuse(f'{sheet}"2 min"\n')[0].endswith('"2 min" is not from 3 to 60 seconds')


@pytest.mark.parametrize(
    ("column", "values", "notes"),
    [
        ("duration_seconds", ["6 s"] * 3, ['"6 s" is read as 6 seconds, in 3 rows']),
        ("duration_seconds", ["6 s", "1:30", "8 s", "12"],
         ['"6 s" is read as 6 seconds; so is 1 more like it', '"1:30" is read as 90 seconds']),
        ("max_credits", ["€25"], ['"€25" is read as 25 credits, not as money']),
        ("max_credits", ["7,5"], ['"7,5" is read as 7.5 credits']),
        ("language", ["German", "German"], ['"German" is read as de, in 2 rows']),
        ("language", ["jp"], ['"jp" is sent as it stands, and is a country\'s code: is "ja" m']),
        ("aspect_ratio", ["09:16"] * 9, ["made of it; it is read as 9:16, in 9 rows"]),
        ("tool", ["“explainer”"], ['"“explainer”" is read as explainer']),
        ("enabled", ["x", "no"], ['"x" is read as yes']),
        ("enabled", ["ja", "nein", "✓", "WAHR"], []),
        ("duration_seconds", ["8", "8.0", "08"], []),
        ("aspect_ratio", ["9x16", "vertical", "“16:9”"], []),
        ("captions", ["srt & vtt"], []),
        ("tags", ["a;b"], []),
    ],
)  # fmt: skip
def test_what_could_have_been_meant_otherwise_is_said_once_of_each_kind(
    read, column, values, notes
):
    told = [str(note) for note in read(table(column, *values)).notes]
    assert len(told) == len(notes)
    for note, words in zip(told, notes, strict=True):
        assert f"column {column}: " in note
        assert words in note


def test_a_default_is_noted_once(read):
    sheet = read("defaults: {tool: t, language: German}\nrows: [{id: a}, {id: b}]\n", "c.yaml")
    assert list(map(str, sheet.notes)) == [
        'c.yaml:1 column language (defaults): "German" is read as de'
    ]


@pytest.mark.parametrize("mark", ["x", "✓", "✔", "☑"])
def test_an_empty_cell_means_no_where_rows_are_ticked(read, mark):
    sheet = read(f"id,tool,enabled\na,t,{mark}\nb,t,\nc,t,{mark}\n")
    assert [brief.enabled for brief in sheet.briefs] == [True, False, True]
    (note,) = map(str, sheet.notes)
    assert f'"{mark}" ticks 2 rows, and an empty cell is read as no (1 row)' in note


def test_an_empty_cell_means_yes_beside_words_and_where_a_document_has_none(read):
    for other in ("no", "yes", "☐"):
        assert read(f"id,tool,enabled\na,t,☑\nb,t,\nc,t,{other}\n").briefs[1].enabled
    sheet = read("rows: [{id: a, tool: t, enabled: ✓}, {id: b, tool: t}]\n", "c.yaml")
    assert [brief.enabled for brief in sheet.briefs] == [True, True]


def test_words_for_people_keep_their_quotes_and_signs(read):
    for text in ("“Wait.”", "'Tis the season", "One\u200d\u2764\ufe0f", "a – b", "½ price"):
        for column in ("topic", "cost_center", "notes", "fields.offer"):
            brief = read(table(column, text)).briefs[0]
            said = {"notes": brief.notes, "cost_center": brief.cost_center, **brief.request}
            said["fields.offer"] = brief.request.get("fields", {}).get("offer")
            assert said[column] == text


def test_it_understands_priorities_tags_and_the_rest(read):
    brief = read(
        "id,tool,priority,tags,cost_center,notes,character_id\n"
        'r1,explainer,-5," a , b,a,, c",MKT-1,"two\nlines",12\n'
    ).briefs[0]
    assert (brief.priority, brief.tags, brief.cost_center) == (-5, ("a", "b", "c"), "MKT-1")
    assert brief.notes == "two\nlines"
    assert brief.request == {"tool": "explainer", "character_id": 12}


def test_empty_cells_are_absent_and_others_trimmed_outside(read):
    sheet = read("id,tool,title,duration_seconds,fields.offer,enabled\nr1,explainer, ,,\u00a0,\n")
    assert sheet.briefs[0].request == {"tool": "explainer"}
    assert sheet.briefs[0].enabled is True
    assert read(table("title", "\ufeff  a  b \u200b")).briefs[0].title == "a  b"


def test_every_problem_is_told_at_once_from_the_top(refuse):
    problems = refuse(
        "id,tool,mode,enabled,aspect_ratio\nr1,explainer,loud,maybe,4:5\nr 2,explainer,,,\nr3,,,,\n"
    )
    assert [problem.partition(" is ")[0] for problem in problems] == [
        'campaign.csv:2 row "r1", column mode: "loud"',
        'campaign.csv:2 row "r1", column aspect_ratio: "4:5"',
        'campaign.csv:2 row "r1", column enabled: "maybe"',
        'campaign.csv:3 column id: "r 2"',
        'campaign.csv:4 row "r3", column tool',
    ]
    assert problems[-1].endswith("neither a tool nor a script: give one of them")
