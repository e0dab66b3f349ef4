"""JSON and JSON lines."""

import json

import pytest

JSON, LINES = "c.json", "c.jsonl"


def test_it_reads_an_object_a_list_and_lines_alike(read):
    rows = [{"id": "a", "tool": "t", "duration_seconds": 8}, {"id": "b", "script": "Hello"}]
    saved = {
        json.dumps({"rows": rows}): JSON,
        json.dumps(rows, indent=2): JSON,
        "\n\n".join(json.dumps(row) for row in rows): LINES,
    }
    digests = {tuple(b.digest for b in read(text, name).briefs) for text, name in saved.items()}
    assert len(digests) == 1


def test_it_knows_the_lines(read):
    rows = (
        '{"campaign": "c",\n "rows": [\n  {"id": "a", "tool": "}{"},\n'
        '  {"id": "b",\n   "script": {"scenes": []}}\n]}'
    )
    assert [brief.line for brief in read(rows, JSON).briefs] == [3, 4]
    assert [brief.line for brief in read('\n{"tool":"a"}\n{"tool":"b"}\n', LINES).briefs] == [2, 3]


def test_numbers_truths_and_null_mean_what_they_say(read):
    text = """[{"id": 7, "tool": "t", "duration_seconds": 8.0, "enabled": false, "priority": 3,
      "max_credits": 12.5, "title": null, "character_id": 4, "captions": [], "voice_id": 12}]"""
    brief = read(text, JSON).briefs[0]
    assert (brief.row, brief.enabled, brief.priority) == ("7", False, 3)
    assert str(brief.max_credits) == "12.5"
    request = {"tool": "t", "duration_seconds": 8, "character_id": 4, "voice_id": "12"}
    assert brief.request == request


def test_the_inputs_of_a_tool_keep_their_types_and_spelling(read, refuse):
    inputs = {"Count": 3, "loud": True, "ratio": 0.5, "points": [1, "a"], "none": None, "empty": ""}
    brief = read(json.dumps([{"id": "a", "tool": "t", "fields": inputs}]), JSON).briefs[0]
    assert brief.request["fields"] == {"Count": 3, "loud": True, "ratio": 0.5, "points": [1, "a"]}
    csv = 'id,tool,fields,fields.b\na,t,"{""count"": 3}",x\n'
    assert read(csv).briefs[0].request["fields"] == {"count": 3, "b": "x"}
    assert refuse(csv.replace("count", "b")) == [
        'campaign.csv:2 row "a", column fields.b: "x" is also in fields: keep one'
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"id": "a", "tool": "t"},\n {"id": "b", "tool": "t", "mode": 5}]',
         'c.json:2 row "b", column mode (rows[1]): "5" is not one of'),
        ('[{"id": "a",\n "tool": "t",\n "fields": {"b": 1,\n"mode": 5},\n "mode"\n: "loud"}]',
         'c.json:5 row "a", column mode (rows[0]): "loud" is not one of'),
        ("", "c.json:1 is not JSON: it is empty"),
        ("[{]", "c.json:1 is not JSON"),
        ('[{"tool": "t", "fields": {"a": NaN}}]', "NaN is not a number"),
        ('[{"tool": "t", "fields": {"a": 1e999}}]', "is not a number that can be sent"),
        ('[{"tool": "t", "title": "\\u0000"}]', "U+0000"),
        ('[{"tool": "t", "title": "\\ud800"}]', "U+D800"),
        ("[" * 100_000, "levels deep"),
        ('[{"tool": "t", "fields": {"a": ' + "[" * 50 + "]" * 50 + "}}]", "levels deep"),
        ("5", "rows that are not a list"),
        ("[]", "has no rows"),
        ("[1" + "0" * 5000 + "]", "is not JSON"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(refuse, text, words):
    assert words in refuse(text, JSON)[0]


def test_every_key_that_is_there_twice_is_named_with_both_lines(refuse):
    text = '[{"id": "a", "tool": "t",\n\n"tool": "u"},\n{"id": "b", "tool": "t", "id": "c"}]'
    assert refuse(text, JSON) == [
        'c.json:3 has "tool" twice in one object (first in line 1): keep one',
        'c.json:4 has "id" twice in one object (first in line 4): keep one',
    ]
    (first, *_) = refuse('{"rows": [], "rows": [{"tool": "t"}]}', LINES)
    assert first == 'c.jsonl:1 has "rows" twice in one object (first in line 1): keep one'


def test_every_bad_line_is_told(refuse):
    problems = refuse('{"tool": "t"}\n{]\n{"mode": "loud", "tool": "t"}\n[\n', LINES)
    assert [one.split(" ")[0] for one in problems] == ["c.jsonl:2", "c.jsonl:3", "c.jsonl:4"]


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": "r1", "tool": "t"}]',
        '{\n  "rows": [\n{"id": "r1", "tool": "t"}\n]}',
        '{"id": "r1", "tool": "t"}\n{"id": "r2", "tool": "t"}\n',
        "rows:\n- id: r1\n  tool: t\n",
        "# a comment\n\ncampaign: c\nrows: [{id: r1, tool: t}]\n",
        "- id: r1\n  tool: t\n",
        "id;tool\nr1;t\n",
        "id\ttool\nr1\tt\n",
    ],
)
def test_it_tells_the_format_of_standard_input_by_its_content(read, text):
    assert read(text, "stdin", campaign="c").briefs[0].row == "r1"
