"""The films page in a real browser: a hundred decisions by keyboard, 300 films, two people."""

from __future__ import annotations

from functools import partial

from playwright.async_api import Browser, Page, expect

from tasks.ledger import Counts, counts_of
from tests.board.conftest import OpenBoard
from tests.board.filmed import filmed
from tests.board.looking import picture, watched
from tests.campaigns import Stage

PAGE = "/c/spring/films"


async def counted(stage: Stage) -> Counts:
    return await stage.ledger.read(partial(counts_of, campaign_id=stage.campaign.id))


async def open_row(page: Page) -> str | None:
    return await page.locator("#films > [aria-current]").get_attribute("data-row")


async def test_a_hundred_decisions_by_keyboard_alone(
    open_board: OpenBoard, chromium: Browser
) -> None:
    stage = await filmed(open_board.ledger, 300, flagged=[7])
    context = await open_board.logged_in(chromium, "reviewer")
    async with watched(context):
        page = await context.new_page()
        await page.goto(PAGE)
        for number in range(100):
            # Every tenth is rejected, half of those with a note.
            if number % 10 == 3:
                await page.keyboard.press("2")
            elif number % 10 == 7:
                await page.keyboard.press("r")
                await page.keyboard.press("n")
                await page.keyboard.type(f"darker, number {number}")
                await page.keyboard.press("Control+Enter")
                await page.keyboard.press(".")
            else:
                await page.keyboard.press("a")
        await expect(page.locator("#which")).to_contain_text("Undecided 200")
        assert await page.locator("video").count() == 1
        await picture(page, "films-hundred")
    counts = await counted(stage)
    assert counts.reviews == {"keep": 80, "reject": 20, "none": 200}
