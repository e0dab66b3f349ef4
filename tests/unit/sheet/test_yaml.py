"""YAML as text: what was typed is what is read."""

import pytest

YAML = "c.yaml"


def row(*lines):
    return "rows:\n  - id: r1\n    tool: explainer\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("ratio", ["9:16", "1:1"])
@pytest.mark.parametrize(
    "text",
    [
        "- id: a\n  tool: t\n  aspect_ratio: {}",
        "- {{id: a, tool: t, aspect_ratio: {}}}",
        "defaults: {{tool: t, aspect_ratio: {}}}\nrows:\n- id: a",
        "rows: [{{id: a,\n  tool: t,\n  aspect_ratio: {}\n}}]",
    ],
)
def test_an_unquoted_aspect_ratio_is_itself_between_braces_too(read, text, ratio):
    """YAML 1.1 reads 9:16 as 556, and knows no colon in a plain text between braces."""
    assert read(text.format(ratio), YAML).briefs[0].request["aspect_ratio"] == ratio


@pytest.mark.parametrize(
    "text", ["no", "on", "017", "1.10", "1e3", "2026-03-04", "0x1F", "1:30", "1_000", "null", "~"]
)
def test_nothing_is_guessed_from_a_text(read, text):
    brief = read(f"- {{id: 007, tool: t, language: no, fields: {{a: {text}}}}}", YAML).briefs[0]
    assert brief.row == "007"
    assert (brief.request["fields"], brief.request["language"]) == ({"a": text}, "no")


def test_an_address_stands_between_braces(read):
    brief = read("- {id: a, tool: t, fields: {page: https://a.example:80/b?c=1}}", YAML).briefs[0]
    assert brief.request["fields"] == {"page": "https://a.example:80/b?c=1"}


@pytest.mark.parametrize("word", ["null", "~", "Null"])
def test_null_is_text_and_is_pointed_out_unless_it_is_quoted(read, word):
    sheet = read(row(f"title: {word}"), YAML)
    assert sheet.briefs[0].title == word
    assert str(sheet.advice[0]).startswith(f'c.yaml:4 "{word}" is taken as this very text')
    assert not read(row(f'title: "{word}"'), YAML).advice


def test_nothing_and_empty_text_are_absent(read):
    assert read(row("title:", 'topic: ""'), YAML).briefs[0].request == {"tool": "explainer"}


BOMB = "a: &a [x, x, x]\n" + "".join(
    f"{name}: &{name} [*{before}, *{before}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
ROW = "rows: [{id: a, tool: t}]\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, "c.yaml:2 uses an alias (*a): write it out, or use defaults"),
        (row("title: !!python/object:os.system x"), "c.yaml:4 uses the tag"),
        (row("title: !!int 5"), "c.yaml:4 uses the tag"),
        ("rows: " + "[" * 5000 + "]" * 5000, "c.yaml:1 is nested more than 20 levels deep"),
        (row() + "---\n" + row(), "second document"),
        ("#" * 3_000_000 + "\n" + row(), "c.yaml has 2.86 MiB; a YAML sheet may have 1 MiB"),
        (row("title: 'open"), "c.yaml:4 is not YAML: a quote (') is opened and never closed"),
        (row() + "  - id: r2\n    tool: t\n    mode: loud\n",
         'c.yaml:6 row "r2", column mode: "loud" is not one of'),
        ("rows:\n  - {id: r1, tool: t, titel: a}\n  - {id: r2, tool: t, titel: b}\n",
         'c.yaml:2 column "titel" is not a column'),
        (row("aspect ratio: 1:1", "Aspect-Ratio: 1:1"),
         'c.yaml:5 row "r1", column Aspect-Ratio and "aspect ratio" are the same column'),
        ("defaults: {tool: t, mode: loud}\nrows: [{id: a}, {id: b}]\n",
         'c.yaml:1 column mode (defaults): "loud" is not one of'),
        ("defaults: {tool: t, captions: loud}\nrows: [{id: a, captions: srt}]\n",
         'c.yaml:1 column captions (defaults): "loud" is not one of'),
        ("defaults: {id: a}\nrows: [{tool: t}]\n", "cannot be a default"),
        (row("title: [a]"), 'c.yaml:4 row "r1", column title is a list where one value belongs'),
        ("", "has no rows"),
        ("campaign: c\n", "has no rows"),
        ("rows: []\n", "has no rows"),
        ("rows: 5\n", "rows has rows that are not a list"),
        ("rows: [5]\n", "rows[0] is not an object of columns"),
        (ROW + "defaults: 3\n", "defaults are not an object"),
        (ROW + "budgte: 3\n", "did you mean budget?"),
        (ROW + "language: en\n", "belongs into a row, or into defaults"),
        (ROW + "budget: 1,200\n", 'budget "1,200" could mean 1200 or 1.2'),
        (ROW + "campaign: Spring 26\n", 'try "spring-26"'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_once_with_its_line(refuse, text, words):
    (problem,) = refuse(text, YAML)
    assert words in problem


def test_what_no_yaml_allows_is_told_first(refuse):
    problems = refuse("- {id: a, tool: t, aspect_ratio: 9:16\n- {id: b}\n", YAML)
    assert problems[0].startswith("c.yaml:1 is not YAML: the { that opens here is never closed")


def test_keys_that_are_there_twice_are_told_with_both_lines_among_the_other_problems(refuse):
    twice = ["title: One", "topic: x", "title: Two", "mode: loud", "topic: y"]
    assert [problem[:60] for problem in refuse(row(*twice), YAML)] == [
        'c.yaml:6 has "title" twice in one object (first in line 4): ',
        'c.yaml:7 row "r1", column mode: "loud" is not one of talking',
        'c.yaml:8 has "topic" twice in one object (first in line 5): ',
    ]


def test_defaults_apply_under_rows(read):
    sheet = read(
        "campaign: c\nbudget: 12.5\n"
        "defaults: {tool: explainer, language: en, captions: none, fields: {a: '1', b: '2'}}\n"
        "rows:\n"
        "  - {id: r1, language: de, fields: {b: '3'}, captions: ''}\n"
        "  - {id: r2, script: Hello}\n",
        YAML,
    )
    first, second = sheet.briefs
    assert (str(sheet.budget), first.captions) == ("12.5", ())
    fields = {"a": "1", "b": "3"}
    assert first.request == {"tool": "explainer", "language": "de", "fields": fields}
    script = {"scenes": [{"narration": "Hello"}]}
    assert second.request == {"language": "en", "script": script}


def test_lists_and_objects_stand_where_they_belong(read):
    text = row("tags: [a, b]", "captions: [vtt, srt]", "fields: {points: [x, {y: z}]}")
    brief = read(text, YAML).briefs[0]
    assert (brief.tags, brief.captions) == (("a", "b"), ("srt", "vtt"))
    assert brief.request["fields"] == {"points": ["x", {"y": "z"}]}
    for captions in ("[both]", '"srt vtt"', "vtt+srt"):
        assert read(row(f"captions: {captions}"), YAML).briefs[0].captions == ("srt", "vtt")


def test_columns_are_those_of_all_rows(read):
    sheet = read("rows: [{id: a, tool: t, x_a: 1}, {id: b, script: {scenes: [s]}}]", YAML)
    assert sheet.columns == ("id", "tool", "x_a", "script")
    cells = [*sheet.briefs[1].cells]
    assert (cells[1], cells[3]) == (("tool", ""), ("script", '{"scenes": ["s"]}'))


def test_the_command_lines_budget_wins(read):
    assert read("budget: 5\nrows: [{id: a, tool: t}]", YAML, budget=7).budget == 7
