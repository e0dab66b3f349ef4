"""Every video has a name of its own, and `check` finds every name that cannot be."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.tasks.runtime.errors import SheetError
from callsheet.tasks.sheet.read import parse_sheet
from callsheet.tasks.sheet.table import SheetOptions

ROWS = """id,script,language,aspect_ratio,notes,x_brand,tags
a,Buy,German,vertical,,Acme Co,"new,big"
b,Buy,en,1:1,,Bolt,
"""
TEMPLATE = "{brand}_{id}_{language}_{aspect_ratio}_v{take}"


def names(text: str, template: str, name: str = "spring.csv") -> list[str | None]:
    sheet = parse_sheet(text.encode(), name=name, options=SheetOptions(names=template))
    return [brief.name for brief in sheet.briefs]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{campaign}/{row}/{row}-take{take}.mp4", [None, None]),
        (TEMPLATE, ["{campaign}/Acme-Co_a_de_9x16_v{take}", "{campaign}/Bolt_b_en_1x1_v{take}"]),
        ("{x_brand}/{Row}-{take:02}.mp4", ["Acme-Co/a-{take:2}", "Bolt/b-{take:2}"]),
        ("{operation}_{priority}_{ID}", ["{campaign}/create_0_a", "{campaign}/create_0_b"]),
    ],
)
def test_columns_are_filled_in(template, expected):
    assert names(ROWS, template) == expected


def test_base_is_the_id_that_the_sheet_has_of_a_row_and_a_sheet_wins_over_the_profile():
    text = "names: '{id}_{fields.product}'\nrows: [{id: a, tool: t, fields: {product: Mug}}]\n"
    assert names(text, "{title}", "spring.yaml") == ["{campaign}/a_Mug"]
    text = "id,script,matrix.language\nkettle,Buy,de|en\n"
    files = names(text, "{campaign}/{language}/{base}", "spring.csv")
    assert files == ["{campaign}/de/kettle", "{campaign}/en/kettle"]
    assert names("id,script\na,Buy\n", "{base}_v{take}") == ["{campaign}/a_v{take}"]
    assert names("id,script,x_base\na,Buy,Mine\n", "{base}") == ["{campaign}/Mine"]


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{brnd}_{id}", "has {brnd}, and no column is called so; did you mean brand?"),
        ("{}", "has {}, and no column is called so"),
        ("{script}_{id}", "has {script}, which cannot name a file"),
        ("{title}_{id}", "has {title}, and no row has a value for it"),
        ("../{id}", "has a part that begins with a dot"),
        ("/{id}", "has a folder without a name"),
        ("{id}/nul", "has a part that is the name of a device on Windows"),
        ("{id", "has a brace without its partner"),
    ],
)
def test_a_wrong_template_is_one_problem(refuse, template, said):
    assert refuse(ROWS, names=template) == [f'campaign.csv the setting names "{template}" {said}']


def test_each_wrong_name_is_told_with_its_cell(refuse):
    text = ROWS + "c,Buy,en,1:1,,a/b,\nd,Buy,en,1:1,,,\ne,Buy,en,1:1,,.x,\nf,Buy,en,1:1,,CON,\n"
    said = [
        'campaign.csv:4 row "c", column x_brand: "a/b" cannot be in the name of a file',
        'campaign.csv:5 row "d", column x_brand is empty, and the setting names needs it',
        'campaign.csv:6 row "e", column x_brand: "campaign/.x" has a part that begins with a dot',
        'campaign.csv:7 row "f", column x_brand: "campaign/CON" has a part that is the name of',
    ]
    for problem, words in zip(refuse(text, names="{brand}"), said, strict=True):
        assert problem.startswith(words)


@pytest.mark.parametrize("twin", ["Acme Co", "ACME-co"])
def test_a_name_that_two_rows_have_is_told_with_both(refuse, twin):
    text = ROWS + f"c,Buy,en,1:1,,{twin},\n"
    (said,) = refuse(text, names="{brand}_v{take}")
    assert said.startswith('campaign.csv:4 row "c", column x_brand: "campaign/')
    assert said.endswith(
        'is also what the video of row "a" (line 2) is called: add {id} to the setting names'
    )


def test_a_row_that_is_off_needs_no_name():
    text = "id,script,enabled,x_brand\na,Buy,yes,Acme\nb,Buy,no,\nc,Buy,no,Acme\n"
    assert names(text, "{brand}") == ["{campaign}/Acme", None, None]


def test_a_name_is_not_what_is_asked_of_the_service():
    one, other = (
        parse_sheet(ROWS.encode(), name="c.csv", options=SheetOptions(names=template)).briefs
        for template in ("{id}", "{id}_v{take}")
    )
    assert [brief.digest for brief in one] == [brief.digest for brief in other]
    assert [brief.wishes for brief in one] != [brief.wishes for brief in other]


@pytest.mark.merge
@given(values=st.lists(st.text(max_size=20), min_size=2, max_size=6))
def test_names_that_are_accepted_are_different(values):
    rows = [{"id": f"r{n}", "script": "Buy", "x_a": text} for n, text in enumerate(values)]
    content = json.dumps({"names": "{a}", "rows": rows}).encode()
    try:
        sheet = parse_sheet(content, name="c.json")
    except SheetError:
        return
    found = [(brief.name or "").casefold() for brief in sheet.briefs]
    assert len(set(found)) == len(found)


COPIED = "copies: {copies}\nrows: [{{id: a, script: Buy, x_brand: Acme}}, {{id: b, script: Buy}}]\n"


@pytest.mark.parametrize(
    ("copies", "expected"),
    [
        ("s3://one/{row}.mp4", [("s3://one", "{name}")]),
        ('["s3://one/ads/{campaign}/{name}.mp4"]', [("s3://one/ads", "{campaign}/{name}")]),
        ('["file:/a/b/{id}_v{take}", "s3://two/x{name}"]',
         [("file:/a/b", "a_v{take}"), ("s3://two", "x{name}")]),
    ],
)  # fmt: skip
def test_a_copy_has_a_place_and_a_name_in_it(tmp_path, copies, expected):
    text = COPIED.format(copies=copies).replace("{row}", "{name}")
    sheet = parse_sheet(text.encode(), name="c.yaml", folder=tmp_path)
    assert list(sheet.briefs[0].copies) == expected


@pytest.mark.safeguard(
    "tasks/sheet/placeholders.py", 'if self.place.startswith("file:") and not local:', "if False:"
)
def test_only_a_local_sheet_or_the_profile_names_a_folder(refuse):
    text = COPIED.format(copies='"file:/etc/{name}"')
    (said,) = refuse(text, "c.yaml")
    assert "is a folder, which only a profile or a local sheet can name" in said
    rows = text.partition("\n")[2].encode()
    options = SheetOptions(copies=("file:/etc/{name}",))
    (first, _) = parse_sheet(rows, name="c.yaml", options=options).briefs
    assert first.copies == (("file:/etc", "{name}"),)


def test_two_videos_are_never_copied_to_one_address(refuse, tmp_path):
    text = COPIED.format(copies='["s3://one/{name}", "s3://one/{campaign}.mp4"]')
    (said,) = refuse(text, "c.yaml", folder=tmp_path)
    assert 'row "b"' in said
    assert "add {id} to copies" in said
