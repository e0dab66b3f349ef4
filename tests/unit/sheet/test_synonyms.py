"""Headers in people's own words: what is proposed, what a person says, and where that is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from callsheet.tasks.runtime.errors import BadInput, SheetError
from callsheet.tasks.sheet.column_names import FILE, keep_answer, parse_map, read_known
from callsheet.tasks.sheet.headers import KNOWN_COLUMNS
from callsheet.tasks.sheet.proposals import likely_columns
from callsheet.tasks.sheet.read import find_sheet, find_sheet_in, parse_sheet, read_sheet
from callsheet.tasks.sheet.table import SheetOptions

CSV = "Video ID;Headline;Copy;Dauer;Format\na;The Kettle;Buy it.;8 sec;vertical\nb;;Sell it.;;\n"
MAP = {"video-id": "id", "HEADLINE ": "title", "Copy": "script", "Dauer": "duration_seconds",
       "format": "aspect_ratio"}  # fmt: skip


@pytest.mark.parametrize(
    ("header", "column"),
    [
        ("Headline", "title"), ("Überschrift", "title"), ("Titre", "title"), ("Título", "title"),
        ("Duration", "duration_seconds"), ("Durée", "duration_seconds"),
        ("Length (seconds)", "duration_seconds"), ("Format", "aspect_ratio"),
        ("Seitenverhältnis", "aspect_ratio"), ("Langue", "language"), ("Idioma", "language"),
        ("Sprechertext:", "script"), ("Voix off", "script"), ("Max cost", "max_credits"),
        ("Budget [credits]", "max_credits"), ("Video ID", "id"), ("Nr.", "id"),
        ("Kostenstelle", "cost_center"), ("Untertitel", "captions"), ("Due date", "deliver_by"),
        ("Owner", None), ("Market UK", None), ("Text in", None), ("Description", None),
        # A text in a language is its translation.
        ("Headline (DE)", "title.de"), ("Copy EN", "script.en"), ("Script NO", "script"),
        ("Titel (Deutsch)", "title.de"), ("VO script DE", "script.de"), ("Script VO", "script"),
        ("VO script pt-BR", "script.pt-br"), ("Tilte", "title"), ("Voice-idd", "voice_id"),
        # Of two words one alone is that of a column.
        ("Video name", "title"), ("Video topic", "topic"), ("Video link", None),
        ("Voice gender", None), ("Script link", None), ("Delivery date", None),
    ],
)  # fmt: skip
def test_a_header_in_four_languages_is_proposed(header: str, column: str | None) -> None:
    assert likely_columns({header: ()})[header].column == column
    assert column is None or column.partition(".")[0] in KNOWN_COLUMNS


def test_nothing_is_taken_that_nobody_said_and_every_cell_is_counted() -> None:
    found = find_sheet_in(CSV.encode(), name="own.csv", options=SheetOptions())
    assert [(one.name, one.proposed, one.filled) for one in found.columns] == [
        ("Video ID", "id", 2), ("Headline", "title", 1), ("Copy", "script", 2),
        ("Dauer", "duration_seconds", 1), ("Format", "aspect_ratio", 1),
    ]  # fmt: skip
    with pytest.raises(SheetError, match="5 problems"):
        found.good()


def test_of_headers_that_could_be_one_column_none_is_proposed_in_any_format() -> None:
    row = {"id": "a", "Headline": "One", "Heading": "Two", "fields.product": "Pot", "Tilte": "x",
           "idempotency-key": "k"}  # fmt: skip
    found = find_sheet_in(json.dumps([row]).encode(), name="own.json", options=SheetOptions())
    assert {one.name: (one.column, one.proposed, one.samples) for one in found.columns} == {
        "id": ("id", None, ("a",)),
        "Headline": (None, None, ("One",)),
        "Heading": (None, None, ("Two",)),
        "fields.product": ("fields.product", None, ("Pot",)),
        "Tilte": (None, None, ("x",)),
        "idempotency-key": (None, None, ("k",)),
    }
    assert {one.name: one.doubt for one in found.columns if one.open} == {
        "Headline": 'could be title, and so could "Heading" and "Tilte"',
        "Heading": 'could be title, and so could "Headline" and "Tilte"',
        "Tilte": 'could be title, and so could "Headline" and "Heading"',
    }
    assert "Headline" not in found.proposals


def test_what_is_spoken_is_told_from_the_whole_header_and_axes_from_their_cells() -> None:
    text = (
        "Job #,Nr.,Copy,Headline (DE),VO script,VO script DE,Languages,Description\n"
        "AH-1,1,Only today.,Der Kessel,It boils.,Er kocht.,en|de,A kettle\n"
        "AH-2,1,Only now.,Der Topf,It cooks.,Er gart.,en|de,A pot\n"
    )
    found = find_sheet_in(text.encode(), name="own.csv", options=SheetOptions())
    assert found.proposals == {
        "Job #": "id", "Nr.": "x_nr.", "Copy": "x_copy", "Headline (DE)": "title.de",
        "VO script": "script.en", "VO script DE": "script.de", "Languages": "matrix.language",
        "Description": "x_description",
    }  # fmt: skip
    assert [one.doubt for one in found.columns if one.name == "Copy"] == [
        'could be script.en, but "VO script" is closer to it'
    ]
    told = [one.message for one in found.problems if one.value == "Copy"]
    assert told == ["is not a column Callsheet knows; it could be script, but \"VO script\" is "
                    "closer to it: call it x_copy to keep it for yourself"]  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "json", "yaml"])
def test_a_sheet_is_read_by_what_a_person_said(kind: str) -> None:
    rows = [{"Video ID": "a", "Headline": "The Kettle", "Copy": "Buy it.", "Dauer": "8 sec",
             "Format": "vertical"}]  # fmt: skip
    text = CSV if kind == "csv" else json.dumps(rows)
    sheet = parse_sheet(text.encode(), name=f"own.{kind}", options=SheetOptions(columns=MAP))
    first = sheet.briefs[0]
    assert (first.row, first.title) == ("a", "The Kettle")
    assert "Buy it." in json.dumps(first.request)
    assert (first.request["duration_seconds"], first.request["aspect_ratio"]) == (8, "9:16")
    assert sheet.columns == ("id", "title", "script", "duration_seconds", "aspect_ratio")


async def test_what_was_said_once_holds_for_the_sheets_with_these_headers(tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text(CSV)
    headers = (await find_sheet(str(own))).written
    assert headers == {"video id", "headline", "copy", "dauer", "format"}
    keep_answer(own, headers, {"Video ID": "id", "Headline": "topic"})
    more = ["Copy=script", "Dauer = duration_seconds", "Format=x_form"]
    keep_answer(own, headers, parse_map(more))
    sheet = await read_sheet(str(tmp_path / "own.csv"))
    assert sheet.briefs[0].request["topic"] == "The Kettle"
    # What is said with the sheet wins.
    typed = SheetOptions(columns={"headline": "title"})
    sheet = await read_sheet(str(tmp_path / "own.csv"), typed)
    assert sheet.briefs[0].title == "The Kettle"
    assert "aspect_ratio" not in sheet.briefs[0].request


@pytest.mark.parametrize(
    ("word", "fault"),
    [
        ("Headline", "does not say which column"), ("=title", "does not say"),
        ("Headline=headline", '"headline" is not a column Callsheet knows; did you mean title?'),
        ("A=idempotency_key", "is set by Callsheet itself"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(word: str, fault: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_map([word])
    assert fault in str(caught.value)


@pytest.mark.parametrize(
    "text", ["[columns", 'columns = ["a"]', "[columns]\na = 1\n", "sheets = 1"]
)
def test_a_file_that_cannot_be_read_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(BadInput, match=FILE):
        read_known(tmp_path)


def test_two_headers_of_one_column_are_refused() -> None:
    options = SheetOptions(columns={"Headline": "title", "Copy": "title"})
    with pytest.raises(SheetError) as caught:
        parse_sheet(CSV.encode(), name="own.csv", options=options)
    assert any("are the same column (title)" in one.message for one in caught.value.problems)


async def test_problems_below_headers_that_are_only_proposed_show_at_once(tmp_path: Path) -> None:
    sheet = tmp_path / "own.csv"
    sheet.write_text("id,Headline,Copy,Dauer,Captions,Owner\na,Kettle,Buy.,10 miles,klingon,Kim\n")
    found = await find_sheet(str(sheet))
    assert [one.column for one in found.problems if one.row == "a"] == [
        "duration_seconds", "captions"
    ]  # fmt: skip
    assert [one.value for one in found.problems if one.row is None] == [
        "Headline", "Copy", "Dauer", "Owner"
    ]  # fmt: skip
    assert found.proposals == {"Headline": "title", "Copy": "script", "Dauer": "duration_seconds",
                               "Owner": "x_owner"}  # fmt: skip
