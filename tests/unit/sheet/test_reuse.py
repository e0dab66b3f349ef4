"""A row that uses another takes its cells wherever its own are empty."""

import random

import pytest

HEADER = ["id", "uses", "title", "script", "aspect_ratio", "x_city"]


def test_empty_cells_come_from_the_used_row(table, read):
    content, name, _ = table(
        [
            HEADER,
            ["c", "b", "", "", "1:1", "Rome"],
            ["b", "a", "B", "", "", ""],
            ["a", "", "A", "Hello {city}", "9:16", "Bonn"],
        ]
    )

    c, b, a = read(content, name).briefs

    assert [(one.row, one.request["title"], one.request["aspect_ratio"]) for one in (a, b, c)] == [
        ("a", "A", "9:16"), ("b", "B", "9:16"), ("c", "B", "1:1")
    ]  # fmt: skip
    said = [one.request["script"]["scenes"][0]["narration"] for one in (a, b, c)]
    assert said == ["Hello Bonn", "Hello Bonn", "Hello Rome"]
    # A status sheet is read again: it has the cells, and uses nothing any more.
    assert dict(b.cells) == dict(
        zip(HEADER, ["b", "", "B", "Hello {city}", "9:16", "Bonn"], strict=True)
    )


def test_what_the_row_says_replaces_all_forms_of_it(read):
    sheet = read(
        """
- {id: a, tool: t, fields: {offer: x}, title.en: A, title.de: Ein A, matrix.language: en|de}
- {id: b, uses: a, script: Buy, language: de}
- {id: c, uses: a, title.de: Das C}
""",
        "c.yaml",
    )

    found = {one.row: one.request for one in sheet.briefs}
    assert found["b"]["title"] == "Ein A"
    assert "tool" not in found["b"]
    assert "fields" not in found["b"]
    assert [found[one]["title"] for one in ("a-en", "a-de", "c-en", "c-de")] == [
        "A", "Ein A", "A", "Das C",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["a", "b", "A", "Buy"], ["bb", "", "B", "Buy"]], '"b" is not the id of a row'),
        ([["one", "tow", "", ""], ["two", "", "B", "Buy"]], "; did you mean two?"),
        ([["a", "a", "", ""]], "comes back to this row (a -> a)"),
        ([["a", "b", "", ""], ["b", "a", "", ""]], "comes back to this row (a -> b -> a)"),
    ],
)
def test_a_mistake_is_one_line_with_its_cell(rows, words, table, refuse):
    content, name, _ = table([HEADER[:4], *rows])

    (problem,) = refuse(content, name)

    assert words in problem
    assert "uses" in problem


def test_a_title_of_its_own_is_never_replaced_and_a_default_uses_no_row(refuse):
    rows = "a,,Buy,de,,Ein A\nb,a,,,B,\n"

    (problem,) = refuse(f"id,uses,script,language,title,title.de\n{rows}")
    assert 'row "b", column title.de is empty: the German title is missing' in problem
    (problem,) = refuse(
        '{"defaults": {"uses": "a", "script": "x"}, "rows": [{"id": "a"}]}', "c.json"
    )
    assert "cannot be a default" in problem


def test_a_chain_may_be_long_and_in_any_order(read):
    rows = ["r0,,Buy", *(f"r{n},r{n - 1}," for n in range(1, 3000))]
    random.Random(7).shuffle(rows)

    sheet = read("\n".join(["id,uses,script", *rows]))

    assert all("script" in one.request for one in sheet.briefs)


TAGGED = """defaults:
  script: Buy
  voice_id: plain
  tag:spring: {voice_id: warm, title: Spring}
  tag:sale: {voice_id: loud}
rows:
  - {id: a, tags: [spring, other]}
  - {id: b, tags: sale, voice_id: own}
  - {id: c}
"""


def test_a_tag_has_defaults_before_the_others(read):
    briefs = read(TAGGED, "c.yaml").briefs

    assert [(one.row, one.request["voice_id"]) for one in briefs] == [
        ("a", "warm"), ("b", "own"), ("c", "plain")
    ]  # fmt: skip
    assert [one.request.get("title") for one in briefs] == ["Spring", None, None]
    unused = read(TAGGED.replace("tags: sale", "tags: sold"), "c.yaml")
    assert any("matches no row" in str(one) for one in unused.advice)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[spring, other]", "[spring, sale]", "has two defaults for voice_id (lines 4 and 5)"),
        ("{voice_id: loud}", "loud", "is not a tag with an object of columns"),
        ("{voice_id: loud}", "{voise_id: loud}", "is not a column Callsheet knows"),
        ("{voice_id: loud}", "{id: z}", "cannot be a default"),
        ("{voice_id: loud}", "{x_city: z}", "cannot be a default of a tag"),
        ("tags: sale,", "matrix.tags: sale,", "defaults of tags need the tags in the row"),
    ],
)
def test_a_mistake_in_the_defaults_of_a_tag_is_one_line(old, new, words, refuse):
    (problem,) = refuse(TAGGED.replace(old, new), "c.yaml")

    assert words in problem
