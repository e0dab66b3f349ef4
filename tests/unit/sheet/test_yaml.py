"""YAML as text: what was typed is what is read."""

import pytest

YAML = "c.yaml"


def row(lines):
    return "rows:\n  - id: r1\n    tool: explainer\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("ratio", ["9:16", "16:9", "1:1"])
def test_an_unquoted_aspect_ratio_is_itself(read, ratio):
    """YAML 1.1 reads 9:16 as 556."""
    request = read(row([f"aspect_ratio: {ratio}"]), YAML).briefs[0].request
    assert request["aspect_ratio"] == ratio


@pytest.mark.parametrize("ratio", ["9:16", "16:9", "1:1"])
@pytest.mark.parametrize(
    "text",
    [
        "- {{id: a, tool: t, aspect_ratio: {}}}",
        "rows: [{{id: a, tool: t, aspect_ratio: {}, title: x}}]",
        "defaults: {{tool: t, aspect_ratio: {}}}\nrows:\n- id: a",
        "rows: [{{id: a,\n  tool: t,\n  aspect_ratio: {}\n}}]",
    ],
)
def test_an_unquoted_aspect_ratio_stands_between_braces_too(read, text, ratio):
    """As YAML 1.2 has it; YAML 1.1 does not know a colon in a plain text there."""
    assert read(text.format(ratio), YAML).briefs[0].request["aspect_ratio"] == ratio


def test_texts_between_braces_are_not_guessed_either(read):
    text = "- {id: 007, tool: t, fields: {when: 1:30, page: https://a.example:80/b?c=1, ja: no}}"
    brief = read(text, YAML).briefs[0]
    assert brief.row == "007"
    assert brief.request["fields"] == {
        "when": "1:30", "page": "https://a.example:80/b?c=1", "ja": "no",
    }  # fmt: skip


def test_what_no_yaml_allows_is_refused_beside_them(refuse):
    problems = refuse("- {id: a, tool: t, aspect_ratio: 9:16\n- {id: b}\n", YAML)
    assert (
        problems[0] == "c.yaml:1 is not YAML: the { that opens here is never closed: } is missing"
    )


@pytest.mark.parametrize(
    "text", ["no", "yes", "on", "017", "1.10", "3.10", "1e3", "2026-03-04", "0x1F", "1:30", "1_000"]
)
def test_nothing_is_guessed_from_a_text(read, text):
    fields = read(row(["language: no", "fields:", f"  a: {text}"]), YAML).briefs[0].request
    assert fields["fields"] == {"a": text}
    assert fields["language"] == "no"


def test_an_id_keeps_its_zeros(read):
    assert read("rows: [{id: 007, tool: t}]", YAML).briefs[0].row == "007"


@pytest.mark.parametrize("word", ["null", "~", "Null"])
def test_null_is_text_and_is_pointed_out(read, word):
    sheet = read(row([f"title: {word}"]), YAML)
    assert sheet.briefs[0].title == word
    assert str(sheet.advice[0]).startswith(f'c.yaml:4 "{word}" is taken as this very text')


def test_nothing_and_empty_text_are_absent(read):
    assert read(row(["title:", 'topic: ""']), YAML).briefs[0].request == {"tool": "explainer"}


def test_a_quoted_null_is_not_pointed_out(read):
    assert not read(row(['title: "null"']), YAML).advice


def test_it_refuses_a_key_that_is_there_twice(refuse):
    twice = ["title: One", "topic: x", "title: Two", "mode: loud", "topic: y"]
    assert [problem[:60] for problem in refuse(row(twice), YAML)] == [
        'c.yaml:6 has "title" twice in one object (first in line 4): ',
        'c.yaml:7 row "r1", column mode: "loud" is not one of talking',
        'c.yaml:8 has "topic" twice in one object (first in line 5): ',
    ]


def test_it_refuses_two_keys_that_are_one_column(refuse):
    (problem,) = refuse(row(["aspect ratio: 1:1", "Aspect-Ratio: 1:1"]), YAML)
    assert problem == (
        'c.yaml:5 row "r1", column Aspect-Ratio and "aspect ratio" are the same column '
        "(aspect_ratio): keep one"
    )


def test_it_refuses_an_alias_bomb_at_its_first_alias(refuse):
    bomb = "a: &a [x, x, x]\n" + "".join(
        f"{name}: &{name} [*{before}, *{before}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    (problem,) = refuse(bomb, YAML)
    assert problem.startswith("c.yaml:2 uses an alias (*a): write it out, or use defaults")


@pytest.mark.parametrize("tag", ["!!python/object:os.system x", "!!int 5", "!secret x"])
def test_it_refuses_tags(refuse, tag):
    (problem,) = refuse(row([f"title: {tag}"]), YAML)
    assert problem.startswith("c.yaml:4 uses the tag")


def test_it_refuses_what_is_nested_too_deep(refuse):
    (problem,) = refuse("rows: " + "[" * 5000 + "]" * 5000, YAML)
    assert problem == "c.yaml:1 is nested more than 20 levels deep"


def test_it_refuses_a_second_document(refuse):
    assert "second document" in refuse(row([]) + "---\n" + row([]), YAML)[0]


def test_it_refuses_a_large_file(refuse):
    assert refuse("#" * 3_000_000 + "\n" + row([]), YAML) == [
        "c.yaml has 2.86 MiB; a YAML sheet may have 1 MiB"
    ]


def test_it_names_the_line_where_yaml_ends(refuse):
    (problem,) = refuse(row(["title: 'open"]), YAML)
    assert problem == "c.yaml:4 is not YAML: a quote (') is opened and never closed"


def test_it_names_the_line_of_the_cell(refuse):
    (problem,) = refuse(row([]) + "  - id: r2\n    tool: t\n    mode: loud\n", YAML)
    assert problem.startswith('c.yaml:6 row "r2", column mode: "loud" is not one of')


def test_an_unknown_key_is_told_once(refuse):
    text = "rows:\n  - {id: r1, tool: t, titel: a}\n  - {id: r2, tool: t, titel: b}\n"
    (problem,) = refuse(text, YAML)
    assert problem.startswith('c.yaml:2 column "titel" is not a column')


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
    assert str(sheet.budget) == "12.5"
    assert first.request == {
        "tool": "explainer",
        "language": "de",
        "fields": {"a": "1", "b": "3"},
    }
    assert first.captions == ()
    assert second.request == {
        "language": "en",
        "script": {"scenes": [{"narration": "Hello"}]},
    }


def test_a_faulty_default_is_told_once(refuse):
    text = "defaults: {tool: t, mode: loud}\nrows: [{id: a}, {id: b}]\n"
    (problem,) = refuse(text, YAML)
    assert problem.startswith('c.yaml:1 column mode (defaults): "loud" is not one of')


def test_a_faulty_default_is_told_where_no_row_takes_it(refuse):
    text = "defaults: {tool: t, captions: loud}\nrows: [{id: a, captions: srt}]\n"
    (problem,) = refuse(text, YAML)
    assert problem.startswith('c.yaml:1 column captions (defaults): "loud" is not one of')


def test_an_id_cannot_be_a_default(refuse):
    assert "cannot be a default" in refuse("defaults: {id: a}\nrows: [{tool: t}]\n", YAML)[0]


def test_lists_and_objects_stand_where_they_belong(read, refuse):
    text = row(["tags: [a, b]", "captions: [vtt, srt]", "fields: {points: [x, {y: z}]}"])
    brief = read(text, YAML).briefs[0]
    assert (brief.tags, brief.captions) == (("a", "b"), ("srt", "vtt"))
    assert brief.request["fields"] == {"points": ["x", {"y": "z"}]}
    assert refuse(row(["title: [a]"]), YAML) == [
        'c.yaml:4 row "r1", column title is a list where one value belongs'
    ]


@pytest.mark.parametrize("captions", ["[srt, vtt]", "[VTT, srt]", "[both]", '"srt vtt"', "vtt+srt"])
def test_captions_may_be_a_list_or_a_text(read, captions):
    assert read(row([f"captions: {captions}"]), YAML).briefs[0].captions == ("srt", "vtt")


def test_columns_are_those_of_all_rows(read):
    sheet = read("rows: [{id: a, tool: t, x_a: 1}, {id: b, script: {scenes: [s]}}]", YAML)
    assert sheet.columns == ("id", "tool", "x_a", "script")
    assert [*sheet.briefs[1].cells][3] == ("script", '{"scenes": ["s"]}')
    assert [*sheet.briefs[1].cells][1] == ("tool", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no rows"),
        ("campaign: c\n", "has no rows"),
        ("rows: []\n", "has no rows"),
        ("rows: 5\n", "rows has rows that are not a list"),
        ("rows: [5]\n", "rows[0] is not an object of columns"),
        ("rows: [{id: a, tool: t}]\ndefaults: 3\n", "defaults are not an object"),
        ("rows: [{id: a, tool: t}]\nbudgte: 3\n", "did you mean budget?"),
        ("rows: [{id: a, tool: t}]\nlanguage: en\n", "belongs into a row, or into defaults"),
        ("rows: [{id: a, tool: t}]\nbudget: 1,200\n", 'budget "1,200" could mean 1200 or 1.2'),
        ("rows: [{id: a, tool: t}]\ncampaign: Spring 26\n", 'try "spring-26"'),
    ],
)
def test_it_explains_a_wrong_shape(refuse, text, words):
    assert words in "\n".join(refuse(text, YAML))


def test_the_command_lines_budget_wins(read):
    assert read("budget: 5\nrows: [{id: a, tool: t}]", YAML, budget=7).budget == 7
