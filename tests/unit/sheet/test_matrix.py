"""One row of a sheet is many videos: axes, translations, ids, and what is wrong with them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.tasks.runtime.errors import SheetError
from callsheet.tasks.sheet.read import parse_sheet
from callsheet.tasks.sheet.table import Sheet, SheetOptions

LANGUAGES = ("en", "de", "fr", "es")


def parse(text: str, name: str = "spring.csv") -> Sheet:
    return parse_sheet(text.encode(), name=name)


def problems(text: str, name: str = "spring.csv") -> list[str]:
    with pytest.raises(SheetError) as caught:
        parse(text, name)
    return [f"{one.line} {one.cell}: {one.message}" for one in caught.value.problems]


CSV = """id,script,script.de,title,matrix.language,matrix.aspect_ratio
a,Buy,Kauf,A,en|German,9:16|square
"""
YAML = """matrix:
  axes:
    language: [en, de]
    aspect_ratio: ["9:16", "1:1"]
  exclude:
    - {language: de, aspect_ratio: "1:1"}
  include:
    - {language: fr, aspect_ratio: "16:9"}
rows:
  - id: a
    script.en: Buy
    script.de: Kauf
    script.fr: Achetez
"""


def test_one_row_of_a_table_is_a_video_for_each_combination(table):
    header = ["id", "script.en", "script.de", "matrix.language", "matrix.aspect_ratio"]
    content, name, _ = table([header, ["a", "Buy", "Kauf", "en|German", "9:16|square"]])

    sheet = parse_sheet(content if isinstance(content, bytes) else content.encode(), name=name)

    said = {one.row: one.request["script"]["scenes"][0]["narration"] for one in sheet.briefs}
    assert said == {"a-en-9x16": "Buy", "a-en-1x1": "Buy", "a-de-9x16": "Kauf", "a-de-1x1": "Kauf"}
    assert [one.message for one in sheet.notes] == [
        "means 1 row x 2 languages x 2 ratios = 4 videos"
    ]
    assert "script.de" in sheet.cells["a-de-1x1"]["script"].where
    assert {brief.line for brief in sheet.briefs} == {2}
    assert dict(sheet.briefs[0].cells)["id"] == "a-en-9x16"
    assert "matrix.language" not in dict(sheet.briefs[0].cells)


def test_a_yaml_sheet_leaves_combinations_out_and_adds_some():
    sheet = parse(YAML, "spring.yaml")

    assert [brief.row for brief in sheet.briefs] == ["a-en-9x16", "a-en-1x1", "a-de-9x16",
                                                     "a-fr-16x9"]  # fmt: skip
    assert [one.message for one in sheet.notes] == [
        "means 1 row x 2 languages x 2 ratios = 4 videos, 1 excluded, 1 included"
    ]


def test_an_exclude_that_matches_nothing_is_advice():
    sheet = parse(YAML.replace('{language: de, aspect_ratio: "1:1"}', "{language: es}"), "s.yaml")

    assert "matches no video (language es)" in " ".join(one.message for one in sheet.advice)


def test_json_takes_an_id_template_and_a_fallback():
    document = {
        "matrix": {"axes": {"language": ["en", "de"]}, "id": "{language}_{id}", "fallback": "en"},
        "rows": [{"id": "a", "script": "Buy", "title": "A", "title.de": "Ein A"}],
    }

    sheet = parse(json.dumps(document), "s.json")

    assert [(one.row, one.request["title"]) for one in sheet.briefs] == [
        ("en_a", "A"),
        ("de_a", "Ein A"),
    ]


@pytest.mark.merge
def test_many_videos_are_accepted_with_a_word_and_never_without_end():
    def many(count: int) -> Sheet:
        axis = "|".join(map(str, range(1, count + 1)))
        text = f"id,script,matrix.priority,matrix.max_credits\na,Buy,{axis},{axis}\n"
        return parse_sheet(text.encode(), name="s.csv", options=SheetOptions(yes_many=True))

    assert len(many(101).briefs) == 10_201
    with pytest.raises(SheetError) as caught:
        many(400)
    assert "means 160,000 videos, more than 100,000: split" in str(caught.value.problems[0])


def test_inputs_of_a_tool_are_translated_and_keep_their_spelling():
    sheet = parse("id,tool,language,fields.product.en,fields.product.de\na,t,de,Shoe,Schuh\n")
    camel = parse("id,tool,matrix.language,fields.productName.de\na,t,de,Schuh\n")

    assert (sheet.briefs[0].row, sheet.briefs[0].request["fields"]) == ("a", {"product": "Schuh"})
    assert camel.briefs[0].request["fields"] == {"productName": "Schuh"}


MANY = ",".join("|".join(f"{letter}{n}" for n in range(101)) for letter in "tu")
MISSING = "2 title.de: is empty: the German title is missing; write it, or name a language in"


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (CSV, "s.csv", "2 script.en: is empty: the English script is missing; write it"),
        (CSV.replace("square", "round"), "s.csv", '2 matrix.aspect_ratio: "round" is not one of'),
        (CSV.replace("en|German", "de|German"), "s.csv", "is in this axis twice"),
        ("id,script,language,matrix.language\na,Buy,en,en|de\n", "s.csv", "is also an axis"),
        (YAML.replace("{language: de,", "{colour: de,"), "s.yaml", "has colour, and the axes are"),
        (YAML.replace("  axes:", "  axis:"), "s.yaml", "is not a part of a matrix"),
        (YAML.replace("  axes:", '  id: "{id}-{size}"\n  axes:'), "s.yaml", "has {size}; there is"),
        (YAML.replace("  axes:", '  id: "{id}"\n  axes:'), "s.yaml", "every axis in matrix.id"),
        (f"id,script,matrix.tags,matrix.voice_id\na,Buy,{MANY}\n", "s.csv",
         "means 10,201 videos, more than 10,000: add --yes-many if you want them"),
        ("id,script,title.en,title.de,matrix.language\na,Buy,A,,en|de\n", "s.csv", MISSING),
        ("id,script,title,title.de,matrix.language\na,Buy,A,,de\nb,Buy,B,Ein B,de\n", "s.csv",
         MISSING),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_cell(text, name, words):
    assert any(words in one for one in problems(text, name)), problems(text, name)


def test_a_wrong_value_is_one_mistake_about_the_whole_cell():
    for cell, words in (("9:17", "is not one of"), ("9:16|9:17", '"9:17" is not one of')):
        with pytest.raises(SheetError) as caught:
            parse(f"id,script,matrix.aspect_ratio\na,Buy,{cell}\n")
        (problem,) = caught.value.problems
        assert problem.message.startswith(words)
        assert problem.value == cell


@pytest.mark.merge
@given(st.permutations(LANGUAGES), st.permutations(("9:16", "1:1", "16:9")), st.data())
def test_sorting_and_removing_values_changes_no_other_video(languages, ratios, data):
    def videos(spoken: list[str], columns: list[int]) -> dict[str, str]:
        header = ["id", "script", "matrix.language", "matrix.aspect_ratio"]
        row = ["a", "Buy", "|".join(spoken), "|".join(ratios)]
        lines = [",".join(one[n] for n in columns) for one in (header, row)]
        return {one.row: one.digest for one in parse("\n".join(lines)).briefs}

    everything = videos(list(LANGUAGES), [0, 1, 2, 3])
    assert videos(languages, data.draw(st.permutations(range(4)))) == everything
    fewer = videos(languages[1:], [0, 1, 2, 3])
    assert fewer == {k: v for k, v in everything.items() if f"-{languages[0]}-" not in k}
