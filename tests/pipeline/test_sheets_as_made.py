"""Twenty sheets as people make them, each written the way its program writes it.

What Callsheet says to each, and what each of them costs: the sandbox's own charge log has the last
word on the cost.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from tests.programs import Desk, Sandbox

HEADER = ("id", "title", "script", "duration_seconds", "aspect_ratio", "language")
KETTLE = ("kettle", "The Kettle Hums", "Steam rises.", 5, "9:16", "en")
MUG = ("mug", "A Thumb for Your Thumb", "The mug is warm.", 5, "1:1", "en")
TEAS = ("teas", "Seven Teas", "Seven drawers open.", 5, "16:9", "en")
ROWS = (KETTLE, MUG, TEAS)
HEAD = ",".join(HEADER)


def cells(*values: object) -> str:
    return ",".join(map(str, values))


#: What each file of text is, byte by byte.
TEXTS: dict[str, bytes] = {
    # Excel's "CSV (Trennzeichen-getrennt)": semicolons, Windows-1252, decimal commas, ja/nein.
    "german.csv": (
        "id;title;script;duration_seconds;aspect_ratio;language;enabled;tags;max_credits\r\n"
        "kessel;Der schöne Kessel;Dampf steigt auf.;5,0;9:16;Deutsch;ja;Frühling, Küche;25,50 €\r\n"
        "tasse;Die Tasse;Die Tasse ist warm.;5 Sek;1:1;deutsch;WAHR;Küche;30\r\n"
        "dose;Die Dose;Nichts davon.;5;1:1;de;nein;;\r\n"
    ).encode("cp1252"),
    # Excel's French CSV: VRAI and FAUX, a no-break space before the unit.
    "french.csv": (
        "id;title;script;duration_seconds;aspect_ratio;language;enabled\r\n"
        "bouilloire;L'été à la bouilloire;La vapeur monte.;5\xa0s;9:16;Français;VRAI\r\n"
        "tasse;Une tasse;La tasse est chaude.;5;1:1;fr;FAUX\r\n"
    ).encode("cp1252"),
    # Google Sheets' CSV: rows below the data hold unticked checkboxes and nothing else.
    "google.csv": "\r\n".join(
        [f"enabled,{HEAD}", cells("TRUE", *KETTLE), cells("FALSE", *MUG), *["FALSE,,,,,,"] * 20]
    ).encode(),
    # Excel's "Unicode Text": tabs in UTF-16 with a byte order mark.
    "unicode.txt": "\r\n".join("\t".join(map(str, row)) for row in (HEADER, KETTLE, MUG)).encode(
        "utf-16"
    ),
    # Quotes, dashes and blanks as a word processor sets them.
    "word.csv": f"{HEAD}\nkettle,The Kettle – at Home,Steam rises.,“5”,“9:16”,en\u200b\n".encode(),
    # YAML by hand: ratios without quotes, yes and no, a language by its name.
    "typed.yaml": (
        b"defaults: {duration_seconds: 5, language: English}\n"
        b"rows:\n"
        b"  - {id: kettle, script: Steam rises., aspect_ratio: 9:16, enabled: yes}\n"
        b"  - {id: mug, script: The mug is warm., aspect_ratio: 1:1, enabled: no}\n"
    ),
    "tabs.yaml": b"rows:\n\t- id: kettle\n\t  script: Steam rises.\n",
    # A title with a colon, without quotes.
    "colon.yaml": b"rows:\n  - id: kettle\n    title: Tea: a love story\n    script: Steam.\n",
    # A field of the tool is misspelt: nothing would be shown of the product.
    "misspelt.csv": (
        b"id,tool,fields.prodct,duration_seconds,aspect_ratio,language\n"
        b"kettle,product-launch,Copper kettle,5,9:16,en\n"
    ),
    # Nobody said how long the video is to be.
    "no-length.csv": b"id,script,aspect_ratio,language\nkettle,Steam rises.,9:16,en\n",
}


Fill = Callable[[Worksheet], None]


def table(*rows: tuple[Any, ...], header: tuple[str, ...] = HEADER, blank: int = 0) -> Fill:
    """Rows below their header, below so many blank lines."""

    def fill(sheet: Worksheet) -> None:
        for row in (*[()] * blank, header, *rows):
            sheet.append(row)

    return fill


def title_above(sheet: Worksheet) -> None:
    table(*ROWS, blank=3)(sheet)
    sheet["A1"], sheet["A2"] = "Spring campaign 2027", "owner: Ada; last change: Tuesday"


def cover(sheet: Worksheet) -> None:
    sheet["B2"], sheet["B4"] = "Campaign plan", "Please fill in the next tab."


def hidden(sheet: Worksheet) -> None:
    table(*ROWS)(sheet)
    for line in (3, 4):
        sheet.row_dimensions[line].hidden = True


def filtered(sheet: Worksheet) -> None:
    """A filter on the language column hides a row."""
    table(KETTLE, MUG, (*TEAS[:-1], "de"))(sheet)
    sheet.auto_filter.ref = "A1:F4"
    sheet.auto_filter.add_filter_column(5, ["en"])
    sheet.row_dimensions[4].hidden = True


def merged(column: str, *rows: tuple[Any, ...]) -> Fill:
    def fill(sheet: Worksheet) -> None:
        table(*rows)(sheet)
        sheet.merge_cells(f"{column}2:{column}{len(rows) + 1}")

    return fill


def ratios_as_times(sheet: Worksheet) -> None:
    """Excel made times of the ratios that were typed."""
    times = ((KETTLE, datetime.time(9, 16)), (TEAS, datetime.time(16, 9)))
    table(*((*row[:4], time, row[5]) for row, time in times))(sheet)
    for line in (2, 3):
        sheet.cell(line, 5).number_format = "h:mm"


#: Checkbox cells, and rows below that hold nothing but an unticked one.
TICKED = table((True, *KETTLE), (False, *MUG), *[(False,)] * 26, header=("enabled", *HEADER))
SAME_RATIO = [(*row[:4], KETTLE[4], row[5]) for row in ROWS]
#: What the worksheets of each workbook are.
BOOKS: dict[str, dict[str, Fill]] = {
    "title-above.xlsx": {"Videos": title_above},
    "cover-first.xlsx": {"Cover": cover, "Videos": table(*ROWS)},
    "two-worksheets.xlsx": {"Spring": table(KETTLE), "Autumn": table(MUG)},
    "hidden.xlsx": {"Videos": hidden},
    "filtered.xlsx": {"Videos": filtered},
    "merged.xlsx": {"Videos": merged("E", *SAME_RATIO)},
    "merged-ids.xlsx": {"Videos": merged("A", KETTLE, MUG)},
    "times.xlsx": {"Videos": ratios_as_times},
    "ticked.xlsx": {"Videos": TICKED},
    # Numbers that went through a program which knows only floating point.
    "floats.xlsx": {"Videos": table((7.0, *KETTLE[1:3], 5.0, "9:16", "en"))},
}


def make(path: Path) -> None:
    """Write one of the sheets."""
    if path.name in TEXTS:
        path.write_bytes(TEXTS[path.name])
        return
    book = Workbook()
    book.remove(book.worksheets[0])
    for name, fill in BOOKS[path.name].items():
        fill(book.create_sheet(name))
    book.save(path)


class Made(NamedTuple):
    """How a run of a sheet ends: exit status, credits, videos, and words that must be said."""

    status: int
    credits: int
    videos: tuple[str, ...]
    words: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


REFUSED = (2, 0, ())
THREE = (0, 30, ("kettle", "mug", "teas"))
ONE_OFF = (0, 10, ("kettle",), ("1 switched off",))
EXPECTED = {
    "german.csv": Made(0, 20, ("kessel", "tasse"), ("1 switched off", '"Deutsch"')),
    "french.csv": Made(0, 10, ("bouilloire",), ("1 switched off", '"Français"')),
    "google.csv": Made(*ONE_OFF),
    "unicode.txt": Made(0, 20, ("kettle", "mug")),
    "word.csv": Made(0, 10, ("kettle",)),
    "title-above.xlsx": Made(*THREE, ("has its header in row 4; rows 1 to 3",)),
    "cover-first.xlsx": Made(*THREE, ('"Videos"',)),
    "two-worksheets.xlsx": Made(*REFUSED, ('"Spring", "Autumn"', "--worksheet")),
    "hidden.xlsx": Made(4, 0, (), ("2 rows are hidden (mug, teas)", "--visible-only")),
    "filtered.xlsx": Made(0, 20, ("kettle", "mug"), (), ("--visible-only",)),
    "merged.xlsx": Made(*THREE, ("E2:E4 is merged",)),
    "merged-ids.xlsx": Made(*REFUSED, ("A2:A3 is merged", "one id")),
    "times.xlsx": Made(0, 20, ("kettle", "teas"), ("read as 9:16; so is 1 more",)),
    "ticked.xlsx": Made(*ONE_OFF),
    "floats.xlsx": Made(0, 10, ("7",)),
    "typed.yaml": Made(*ONE_OFF),
    "tabs.yaml": Made(*REFUSED, ("tabs.yaml:2", "tab", "spaces")),
    "colon.yaml": Made(*REFUSED, ("colon.yaml:3", "quotes around")),
    "misspelt.csv": Made(*REFUSED, ("fields.prodct", "did you mean fields.product?")),
    "no-length.csv": Made(0, 60, ("kettle",), ("service",)),
}


@pytest.mark.merge
@pytest.mark.parametrize("sheet", EXPECTED)
def test_a_sheet_as_people_make_it(desk: Desk, service: Sandbox, sheet: str) -> None:
    make(desk.folder / sheet)
    expected = EXPECTED[sheet]
    name = f"{desk.folder.name}-{sheet.rpartition('.')[0]}"
    before = len(service.charges())
    ended = desk.run(sheet, "--campaign", name, *expected.options)
    said = ended.err + ended.out
    assert ended.status == expected.status, said
    assert [words for words in expected.words if words not in said] == [], said
    charged = [entry for entry in service.charges()[before:] if entry["event"] == "charge"]
    assert sum(entry["credits"] for entry in charged) == expected.credits
    if expected.videos:
        states = desk.states(name)
        videos = {row for row, state in states.items() if state == "delivered"}
        assert videos == set(expected.videos)
        # A number of the sheet stands in the status sheet as a person wrote it.
        status = (desk.folder / "deliveries" / name / "status.csv").read_text("utf-8-sig")
        assert sheet != "floats.xlsx" or ".0" not in status
