"""Placeholders take the text of the row's own `x_` columns, and nothing else."""

import pytest

HEADER = ["id", "title", "script", "x_city", "x_offer"]


def test_a_table_is_filled_from_its_own_columns(table, read):
    script = '{"scenes": [{"narration": "Hello {city}"}]}'
    content, name, _ = table(
        [HEADER, ["a", "{x_city}: {X Offer} {{now}}", script, "Bonn", "{x_city} 50% }}"]]
    )

    sheet = read(content, name)

    brief = sheet.briefs[0]
    assert brief.request["title"] == "Bonn: {x_city} 50% }} {now}"
    assert brief.request["script"] == {"scenes": [{"narration": "Hello Bonn"}]}
    # The status sheet has what was written, so that it can be read again.
    assert dict(brief.cells)["title"] == "{x_city}: {X Offer} {{now}}"


@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_a_tree_is_filled_also_from_defaults(kind, read):
    # JSON is YAML too.
    text = """{"defaults": {"x_brand": "Acme", "title": "{x_brand} in {x_city}", "tool": "t"},
      "rows": [{"id": "a", "x_city": "Bonn", "fields": {"offer": "{x_city} {", "list": ["{city}"]}},
               {"id": "b", "x_city": "Rome", "x_brand": "Zed", "fields": {"offer": "none"}}]}"""

    first, second = read(text, f"c.{kind}").briefs

    assert (first.request["title"], second.request["title"]) == ("Acme in Bonn", "Zed in Rome")
    assert first.request["fields"] == {"offer": "Bonn {", "list": ["Bonn"]}


def test_a_variant_is_filled_in_its_own_language(read):
    header, row = "id,script.en,script.de,matrix.language,x_city", "a,Hello {city},Hallo {city}"

    sheet = read(f"{header}\n{row},en|de,Bonn\n")

    said = [one.request["script"]["scenes"][0]["narration"] for one in sheet.briefs]
    assert said == ["Hello Bonn", "Hallo Bonn"]


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("{ctiy}", "has {ctiy}, and no column is called x_ctiy; did you mean x_city?"),
        ("{title}", "has {title}, and no column is called x_title; write {{ for a brace"),
        ("Now {}", "has {}, and no column is called x_"),
        ("{x_city.__class__}", "has {x_city.__class__}, and no column is called"),
        ("{x_city:>999999999}", "has {x_city:>999999999}, and no column"),
        ("Now in {x_city", "has {x_city without its closing brace"),
        ("{x_offer}", "has {x_offer}, and x_offer is empty in this row"),
    ],
)
def test_a_mistake_is_one_line_with_its_cell(title, words, table, refuse):
    content, name, _ = table([HEADER, ["a", title, "Buy", "Bonn", ""]])

    (problem,) = refuse(content, name)

    assert words in problem
    assert "title" in problem
    assert 'row "a"' in problem


def test_a_default_may_begin_with_a_placeholder_and_an_unknown_name_is_said_once(read, refuse):
    text = """{"defaults": {"script": "{city} calls."},
      "rows": [{"id": "a", "x_city": "Bonn"}, {"id": "b", "x_city": "Rome"}]}"""

    said = [one.request["script"]["scenes"][0]["narration"] for one in read(text, "c.json").briefs]
    assert said == ["Bonn calls.", "Rome calls."]
    (problem,) = refuse(text.replace("{city}", "{x_no}"), "c.json")
    assert "script (defaults) has {x_no}, and no column is called x_no" in problem


def test_a_broken_object_is_refused_as_one(refuse):
    (problem,) = refuse('id;script\na;"{""scenes"": [{""narration"": ""x""}],}"\n')

    assert "begins like JSON" in problem
