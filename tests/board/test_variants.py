"""Videos that a matrix means are one row on the pages, which opens; counts stay of videos."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from callsheet.deployments.board.variants import variants_planned
from callsheet.tasks.sheet import parse_sheet
from callsheet.tasks.values.briefs import VARIANT_OF
from tests.board.conftest import OpenBoard
from tests.campaigns import Stage

pytestmark = pytest.mark.merge

SHEET = b"""id,script.en,script.de,matrix.language,matrix.aspect_ratio
shoes,Run further.,Lauf weiter.,en|de,9:16|1:1
hat,Wear it.,Trag ihn.,en|de,9:16
"""
ALONE = b"id,script,language\nmug,Drink.,en\n"


async def campaign(board: OpenBoard) -> Stage:
    """Return a campaign of six variants and a row of its own."""
    sheets = (parse_sheet(text, name="spring.csv") for text in (SHEET, ALONE))
    return await Stage.set(board.ledger, *(brief for one in sheets for brief in one.briefs))


def test_a_variant_names_its_row_and_its_identity_does_not() -> None:
    sheet = parse_sheet(SHEET, name="spring.csv")
    assert [(one.row, one.variant_of) for one in sheet.briefs][3:5] == [
        ("shoes-de-1x1", "shoes"), ("hat-en-9x16", "hat"),
    ]  # fmt: skip
    # A status sheet has it, and is read as rows of their own.
    written = ",".join(sheet.columns) + "\n" + ",".join(t for _, t in sheet.briefs[0].cells) + "\n"
    (again,) = parse_sheet(written.encode(), name="spring.csv").briefs
    assert VARIANT_OF in written
    assert (again.row, again.digest, again.variant_of) == (
        "shoes-en-9x16", sheet.briefs[0].digest, None,
    )  # fmt: skip
    assert VARIANT_OF not in parse_sheet(ALONE, name="mug.csv").columns


def line(row: str, base: str | None, **own: Any) -> dict[str, Any]:
    asked = dict.fromkeys(("why", "tool", "duration_seconds", "aspect_ratio", "language"))
    row_of = {"row": row, "variant_of": base, "title": row, "action": "make", "quoted": 4}
    return {**asked, **row_of, **own}


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([], []),
        # One that stands alone needs no row to open.
        ([line("a", None), line("b-en", "b")], [(None, 2, "2 videos", 8)]),
        (
            [line("b-en", "b", language="en"), line("b-de", "b", language="de"), line("a", None)],
            [("b", 2, "2 videos: 2 languages", 8), (None, 1, "1 video", 4)],
        ),
        (
            [line("b-1", "b", language="en", aspect_ratio="1:1"),
             line("b-2", "b", language="de", aspect_ratio="1:1"),
             line("b-3", "b", language="de", aspect_ratio="9:16")],
            [("b", 3, "3 videos: 2 languages, 2 ratios", 12)],
        ),
    ],
)  # fmt: skip
def test_variants_are_together(
    rows: list[dict[str, Any]], found: list[tuple[str | None, int, str, int]]
) -> None:
    shown = variants_planned(rows, paid=("make",))
    assert [(one.base, len(one.rows), one.words, int(one.quoted)) for one in shown] == found


async def test_the_page_of_a_campaign_shows_one_row_of_videos(open_board: OpenBoard) -> None:
    stage = await campaign(open_board)
    await stage.delivered("shoes-en-9x16")
    browser = await open_board.form("approver")
    text = (await browser.get("/c/spring")).text
    assert re.findall(r'class="title">(\w+)</span>', text) == ["shoes", "hat"]
    assert "4 videos: 2 languages x 2 ratios" in text
    assert "1 delivered" in text
    assert "of 7 delivered" in text
    assert text.count('name="row"') == 7
    # What a filter finds is in sight; in another order rows stand alone.
    found = (await browser.get("/c/spring?q=shoes")).text
    assert "<details open>" in found
    assert "hat" not in re.findall(r'class="title">(\w+)</span>', found)
    assert 'class="variants"' not in (await browser.get("/c/spring?sort=since")).text


async def test_a_row_of_variants_stays_open(open_board: OpenBoard, chromium: Browser) -> None:
    stage = await campaign(open_board)
    page = await (await open_board.logged_in(chromium, "approver")).new_page()
    await page.goto("/c/spring")
    rows = page.get_by_role("table", name="Rows")
    one = rows.get_by_role("link", name="shoes-en-9x16", exact=True)
    await expect(one).to_be_hidden()
    await page.get_by_text("4 videos: 2 languages x 2 ratios").click()
    await expect(one).to_be_visible()
    await expect(rows.get_by_role("link", name="hat-en-9x16")).to_be_hidden()

    await stage.delivered("shoes-en-9x16")
    await expect(rows.get_by_text("1 delivered")).to_be_visible(timeout=15_000)
    await expect(one).to_be_visible()

    await page.get_by_role("checkbox", name="Select all videos of shoes").check()
    await expect(page.get_by_text("4 of 7 selected")).to_be_visible()
