"""What Callsheet says to twenty sheets as people make them, and what each of them costs.

The sandbox's own charge log has the last word on the cost.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.pipeline.made_sheets import MADE
from tests.programs import Desk, Sandbox


class Made(NamedTuple):
    """How a run of a sheet ends: exit status, credits, videos, and words that must be said."""

    status: int
    credits: int
    videos: tuple[str, ...]
    words: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


REFUSED = (2, 0, ())
EXPECTED = {
    "german.csv": Made(0, 20, ("kessel", "tasse"), ("1 switched off", '"Deutsch"')),
    "french.csv": Made(0, 10, ("bouilloire",), ("1 switched off", '"Français"')),
    "google.csv": Made(0, 10, ("kettle",), ("1 switched off",)),
    "unicode.txt": Made(0, 20, ("kettle", "mug")),
    "word.csv": Made(0, 10, ("kettle",)),
    "title-above.xlsx": Made(
        0, 30, ("kettle", "mug", "teas"), ("has its header in row 4; rows 1 to 3",)
    ),
    "cover-first.xlsx": Made(0, 30, ("kettle", "mug", "teas"), ('"Videos"',)),
    "two-worksheets.xlsx": Made(*REFUSED, ('"Spring", "Autumn"', "--worksheet")),
    "hidden.xlsx": Made(4, 0, (), ("2 rows are hidden (mug, teas)", "--visible-only")),
    "filtered.xlsx": Made(0, 20, ("kettle", "mug"), (), ("--visible-only",)),
    "merged.xlsx": Made(0, 30, ("kettle", "mug", "teas"), ("E2:E4 is merged",)),
    "merged-ids.xlsx": Made(*REFUSED, ("A2:A3 is merged", "one id")),
    "times.xlsx": Made(0, 20, ("kettle", "teas"), ("read as 9:16; so is 1 more",)),
    "ticked.xlsx": Made(0, 10, ("kettle",), ("1 switched off",)),
    "floats.xlsx": Made(0, 10, ("7",)),
    "typed.yaml": Made(0, 10, ("kettle",), ("1 switched off",)),
    "tabs.yaml": Made(*REFUSED, ("tabs.yaml:2", "tab", "spaces")),
    "colon.yaml": Made(*REFUSED, ("colon.yaml:3", "quotes around")),
    "misspelt.csv": Made(*REFUSED, ("fields.prodct", "did you mean fields.product?")),
    "no-length.csv": Made(0, 60, ("kettle",), ("service",)),
}


@pytest.mark.merge
@pytest.mark.parametrize("sheet", MADE)
def test_a_sheet_as_people_make_it(desk: Desk, service: Sandbox, sheet: str) -> None:
    MADE[sheet](desk.folder / sheet)
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
        videos = {row for row, line in desk.rows(name).items() if line["state"] == "delivered"}
        assert videos == set(expected.videos)


def test_no_number_comes_back_as_another(desk: Desk) -> None:
    """A number of the sheet stands in the status sheet as a person wrote it."""
    MADE["floats.xlsx"](Path(desk.folder / "floats.xlsx"))
    desk.run("floats.xlsx")

    told = next((desk.folder / "deliveries").rglob("*status*.csv")).read_text()

    assert ".0" not in told
