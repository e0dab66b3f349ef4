"""Twenty sheets as people make them: real files, each written the way its program writes it.

Owns the files alone; what Callsheet has to say to each, and what each costs, is in
`test_sheets_as_made.py`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

HEADER = ("id", "title", "script", "duration_seconds", "aspect_ratio", "language")
KETTLE = ("kettle", "The Kettle Hums", "Steam rises.", 5, "9:16", "en")
MUG = ("mug", "A Thumb for Your Thumb", "The mug is warm.", 5, "1:1", "en")
TEAS = ("teas", "Seven Teas", "Seven drawers open.", 5, "16:9", "en")
ROWS = (KETTLE, MUG, TEAS)


def german_excel(path: Path) -> None:
    """Excel's "CSV (Trennzeichen-getrennt)": semicolons, Windows-1252, decimal commas, ja/nein."""
    path.write_bytes(
        "id;title;script;duration_seconds;aspect_ratio;language;enabled;tags;max_credits\r\n"
        "kessel;Der schöne Kessel;Dampf steigt auf.;5,0;9:16;Deutsch;ja;Frühling, Küche;25,50 €\r\n"
        "tasse;Die Tasse;Die Tasse ist warm.;5 Sek;1:1;deutsch;WAHR;Küche;30\r\n"
        "dose;Die Dose;Nichts davon.;5;1:1;de;nein;;\r\n".encode("cp1252")
    )


def french_excel(path: Path) -> None:
    """Excel's French CSV: VRAI and FAUX, a no-break space before the unit."""
    path.write_bytes(
        "id;title;script;duration_seconds;aspect_ratio;language;enabled\r\n"
        "bouilloire;L'été à la bouilloire;La vapeur monte.;5\xa0s;9:16;Français;VRAI\r\n"
        "tasse;Une tasse;La tasse est chaude.;5;1:1;fr;FAUX\r\n".encode("cp1252")
    )


def google_export(path: Path) -> None:
    """Google Sheets' CSV: rows below the data hold unticked checkboxes and nothing else."""
    lines = ["enabled,id,title,script,duration_seconds,aspect_ratio,language"]
    lines += [
        f"TRUE,{','.join(map(str, KETTLE))}",
        f"FALSE,{','.join(map(str, MUG))}",
    ]
    lines += ["FALSE,,,,,,"] * 20
    path.write_bytes("\r\n".join(lines).encode())


def unicode_text(path: Path) -> None:
    """Excel's "Unicode Text": tabs in UTF-16 with a byte order mark."""
    lines = ["\t".join(map(str, row)) for row in (HEADER, KETTLE, MUG)]
    path.write_bytes("\r\n".join(lines).encode("utf-16"))


def pasted_from_word(path: Path) -> None:
    """Quotes, dashes and blanks as a word processor sets them."""
    path.write_text(
        "id,title,script,duration_seconds,aspect_ratio,language\n"
        "kettle,The Kettle – at Home,Steam rises.,“5”,“9:16”,en\u200b\n"
    )


def title_above(path: Path) -> None:
    """A title and a note above the header, as a planner's template has them."""

    def fill(sheet: Worksheet) -> None:
        sheet["A1"] = "Spring campaign 2027"
        sheet["A2"] = "owner: Ada; last change: Tuesday"
        table(sheet, HEADER, *ROWS, top=4)

    workbook(path, Videos=fill)


def cover_first(path: Path) -> None:
    """A cover worksheet comes first."""

    def cover(sheet: Worksheet) -> None:
        sheet["B2"] = "Campaign plan"
        sheet["B4"] = "Please fill in the next tab."

    workbook(path, Cover=cover, Videos=lambda sheet: table(sheet, HEADER, *ROWS))


def two_worksheets(path: Path) -> None:
    """Two worksheets, each a sheet of its own."""
    workbook(
        path,
        Spring=lambda sheet: table(sheet, HEADER, KETTLE),
        Autumn=lambda sheet: table(sheet, HEADER, MUG),
    )


def hidden_rows(path: Path) -> None:
    """Two of three rows are hidden by hand."""

    def fill(sheet: Worksheet) -> None:
        table(sheet, HEADER, *ROWS)
        for line in (3, 4):
            sheet.row_dimensions[line].hidden = True

    workbook(path, Videos=fill)


def filtered_rows(path: Path) -> None:
    """A filter on the language column hides a row."""

    def fill(sheet: Worksheet) -> None:
        table(sheet, HEADER, KETTLE, MUG, (*TEAS[:-1], "de"))
        sheet.auto_filter.ref = "A1:F4"
        sheet.auto_filter.add_filter_column(5, ["en"])
        sheet.row_dimensions[4].hidden = True

    workbook(path, Videos=fill)


def merged_column(path: Path) -> None:
    """One merged cell says the ratio of three rows."""

    def fill(sheet: Worksheet) -> None:
        table(sheet, HEADER, *((*row[:4], KETTLE[4], row[5]) for row in ROWS))
        sheet.merge_cells("E2:E4")

    workbook(path, Videos=fill)


def merged_ids(path: Path) -> None:
    """One merged id for two videos."""

    def fill(sheet: Worksheet) -> None:
        table(sheet, HEADER, KETTLE, MUG)
        sheet.merge_cells("A2:A3")

    workbook(path, Videos=fill)


def ratios_as_times(path: Path) -> None:
    """Excel made times of the ratios that were typed."""

    def fill(sheet: Worksheet) -> None:
        for row, time in ((KETTLE, datetime.time(9, 16)), (TEAS, datetime.time(16, 9))):
            table(sheet, HEADER, (*row[:4], time, row[5]), top=sheet.max_row, headed=row is KETTLE)
        for line in (2, 3):
            sheet.cell(line, 5).number_format = "h:mm"

    workbook(path, Videos=fill)


def ticked_boxes(path: Path) -> None:
    """Checkbox cells, and rows below that hold nothing but an unticked one."""

    def fill(sheet: Worksheet) -> None:
        table(sheet, ("enabled", *HEADER), (True, *KETTLE), (False, *MUG))
        for line in range(4, 30):
            sheet.cell(line, 1, False)

    workbook(path, Videos=fill)


def whole_numbers_as_floats(path: Path) -> None:
    """Numbers that went through a program which knows only floating point."""
    workbook(
        path, Videos=lambda sheet: table(sheet, HEADER, (7.0, *KETTLE[1:3], 5.0, "9:16", "en"))
    )


def typed_yaml(path: Path) -> None:
    """YAML by hand: ratios without quotes, yes and no, a language by its name."""
    path.write_text(
        "defaults: {duration_seconds: 5, language: English}\n"
        "rows:\n"
        "  - {id: kettle, script: Steam rises., aspect_ratio: 9:16, enabled: yes}\n"
        "  - {id: mug, script: The mug is warm., aspect_ratio: 1:1, enabled: no}\n"
    )


def tabs_in_yaml(path: Path) -> None:
    """YAML that is indented with tabs."""
    path.write_text("rows:\n\t- id: kettle\n\t  script: Steam rises.\n")


def colon_in_yaml(path: Path) -> None:
    """A title with a colon, without quotes."""
    path.write_text("rows:\n  - id: kettle\n    title: Tea: a love story\n    script: Steam.\n")


def misspelt_field(path: Path) -> None:
    """A field of the tool is misspelt: nothing would be shown of the product."""
    path.write_text(
        "id,tool,fields.prodct,duration_seconds,aspect_ratio,language\n"
        "kettle,product-launch,Copper kettle,5,9:16,en\n"
    )


def no_length(path: Path) -> None:
    """Nobody said how long the video is to be."""
    path.write_text("id,script,aspect_ratio,language\nkettle,Steam rises.,9:16,en\n")


MADE: dict[str, Callable[[Path], None]] = {
    "german.csv": german_excel,
    "french.csv": french_excel,
    "google.csv": google_export,
    "unicode.txt": unicode_text,
    "word.csv": pasted_from_word,
    "title-above.xlsx": title_above,
    "cover-first.xlsx": cover_first,
    "two-worksheets.xlsx": two_worksheets,
    "hidden.xlsx": hidden_rows,
    "filtered.xlsx": filtered_rows,
    "merged.xlsx": merged_column,
    "merged-ids.xlsx": merged_ids,
    "times.xlsx": ratios_as_times,
    "ticked.xlsx": ticked_boxes,
    "floats.xlsx": whole_numbers_as_floats,
    "typed.yaml": typed_yaml,
    "tabs.yaml": tabs_in_yaml,
    "colon.yaml": colon_in_yaml,
    "misspelt.csv": misspelt_field,
    "no-length.csv": no_length,
}


def workbook(path: Path, **worksheets: Callable[[Worksheet], None]) -> None:
    """Write a workbook with these worksheets, in this order."""
    book = Workbook()
    book.remove(book.worksheets[0])
    for name, fill in worksheets.items():
        fill(book.create_sheet(name))
    book.save(path)


def table(
    sheet: Worksheet,
    header: tuple[str, ...],
    *rows: tuple[Any, ...],
    top: int = 1,
    headed: bool = True,
) -> None:
    """Write rows below their header, the header into line `top`."""
    for line, row in enumerate((header, *rows) if headed else ((), *rows), top):
        for column, value in enumerate(row, 1):
            sheet.cell(line, column, value)
