"""Text that is not quite YAML or JSON: the line and its first mistake, in words."""

from __future__ import annotations

import pytest

#: What a sheet says after its first row has begun, and what is said about it.
YAML = [
    ("\ttool: t", 3, "the line begins with a tab: indent with spaces"),
    ("    title: Tea: the video", 3, 'quotes around it, like title: "Tea: the video"'),
    ('    title: The "best": tea', 3, "quotes around it, like title: 'The \"best\": tea'"),
    ('    title: "Best" tea', 3, "goes on after its second \": put other quotes around all of it"),
    ("    title: 'it's here'", 3, 'like title: "it\'s here"'),
    ('    title: "open\n    topic: x', 3, 'a quote (") is opened and never closed'),
    ('    title: "open\n    topic: "x"', 3, 'a quote (") is opened and never closed'),
    ('    title: "C:\\path"', 3, "use single ones, like title: 'C:\\path'"),
    ("    script: @hero.txt", 3, 'a text cannot begin with @: put quotes around it, like script:'),
    ("    title: 20% off\n    topic: %x", 4, "a text cannot begin with %"),
    ("    title: [Sale] now", 3, "a text cannot begin with [: put quotes around it"),
    ("    title: {Sale} now", 3, "a text cannot begin with {: put quotes around it"),
    ("    title: * tea", 3, "a text cannot begin with *"),
    ("    title: > 5 tips", 3, "a text cannot begin with >"),
    ("    script: | Hello\n      more", 3, "after | a text begins on the next line"),
    ("    tags: [a, b\n    tool: t", 3, "the [ that opens here is never closed: ] is missing"),
    ("    title:Tea\n    tool: t", 3, 'a blank is missing after the colon: write "title: Tea"'),
    ("  -id: b", 3, 'a blank is missing after the dash: write "- id: b"'),
    ("    tool: t\n     title: x", 4, "is indented by 5 spaces, which fits nothing above it"),
    ("    tool: t\n   title: x", 4, "is indented by 3 spaces, which fits nothing above it"),
    ("    tool: t\n  id: b", 4, "the line begins a row without a dash"),
    ("    script: |\n    Hello\n    tool: t", 4, "belongs to the text that line 3 begins: indent"),
    ("    title: one\n    two\n    tool: t", 4, 'the line is no "name: value"'),
    ("    fields: {a: 1,, b: 2}", 3, "is a comma missing or too much?"),
]  # fmt: skip

JSON = [
    ('[{"id": "a", "tool": "t",},\n{"id": "b"}]', 1, "a comma stands before the closing }"),
    ('[{"id": "a", "tool": "t"},\n]', 1, "a comma stands before the closing ]: take it out"),
    ('[{"id": "a",, "tool": "t"}]', 1, "a comma has nothing before it: take it out"),
    ("[{'id': \"a\"}]", 1, '"id" stands in single quotes: JSON wants straight double ones'),
    ('[{“id”: "a"}]', 1, '"id" stands in curly quotes: JSON wants straight double ones'),
    ('[\n// mine\n{"id": "a"}]', 2, '"// mine" is a comment, and JSON has none: take it out'),
    ('[\n/* of\nmine */ {"id": "a"}]', 2, '"/* of↵mine */" is a comment'),
    ('[# mine\n{"id": "a"}]', 1, '"# mine" is a comment'),
    ('[{id: "a"}]', 1, '"id" stands without quotes: put straight ones (") around it'),
    ('[{"enabled": True}]', 1, 'True is spelled otherwise in JSON: true, false or null'),
    ('[{"id": 007}]', 1, 'the number 007 begins with 0: put quotes around it ("007")'),
    ('[{"id" "a"}]', 1, "a colon (:) is missing after the name"),
    ('[{"id": "a"\n"tool": "t"}]', 1, "a comma is missing at the end"),
    ('[{"id": "a"}\n{"id": "b"}]', 1, "a comma is missing at the end"),
    ('[{"title": "The "best" tea"}]', 1, 'a quote (") stands inside a text: write \\" for it'),
    ('[{"title": "open}]', 1, 'a quote (") is not closed before the line ends'),
    ('[\n{"title": "one\ntwo"}]', 2, 'a quote (") is not closed before the line ends'),
    ('[{"title": "C:\\path"}]', 1, "write it twice (\\\\)"),
    ('[{"title": }]', 1, 'a name has no value: write "" after its colon'),
    ('{"id": "a"}\n{"id": "b"}', 2, "it goes on after its end: put all rows into one list"),
    ('[\n{"id": "a",\n"fields": {"b": "c"}', 2, "the { that opens here is never closed"),
    ('[{"id": "a", "tool": "t"]', 1, "} is missing before the closing ]"),
    ('[{"id": "a", "tags": ["t"}]', 1, "] is missing before the closing }"),
    ("[{]", 1, "] stands where it cannot"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "number", "words"), YAML)
def test_a_mistake_in_yaml_is_told_in_words(refuse, lines, number, words):
    problems = refuse(f"rows:\n  - id: a\n{lines}\n", "c.yaml")
    (told,) = [problem for problem in problems if "is not YAML" in problem]
    assert told.startswith(f"c.yaml:{number} is not YAML: ")
    assert words in told


@pytest.mark.parametrize(("text", "number", "words"), JSON)
def test_a_mistake_in_json_is_told_in_words(refuse, text, number, words):
    told = [problem for problem in refuse(text, "c.json") if "is not JSON" in problem]
    assert told[0].startswith(f"c.json:{number} is not JSON: ")
    assert words in told[0]


def test_the_first_mistake_is_named(refuse):
    text = (
        "rows:\n"
        "  - {id: b, tool: t, aspect_ratio: 9:16, mode: loud}\n"
        "  - id: a\n"
        "    title: Tea: the video\n"
        "    script: @a.txt\n"
    )
    (told,) = refuse(text, "c.yaml")
    assert told.startswith("c.yaml:4 is not YAML: a text with a colon in it")
    (told,) = refuse('[{"id": "a"},\n{"id": “b”, "mode": loud,},\n]', "c.json")
    assert told.startswith('c.json:2 is not JSON: "b" stands in curly quotes')


def test_of_json_lines_every_faulty_one_is_named(refuse):
    text = '{"id": "a", "tool": "t"}\n{"id": "a", "tool": "t",}\n{"id": "c", "mode": "loud"\n'
    assert [problem[:60] for problem in refuse(text, "c.jsonl")] == [
        "c.jsonl:2 is not a line of JSON: a comma stands before the c",
        "c.jsonl:3 is not a line of JSON: the { that opens here is ne",
    ]
