"""What takes long on the board: many films, and its death while a run is at work."""

from __future__ import annotations

import asyncio

from playwright.async_api import Browser, expect

from tests.board.conftest import OpenBoard
from tests.board.looking import picture
from tests.board.test_films_by_keyboard import decide_by_keyboard
from tests.board.test_whole_way import WITHIN, board, hand_in, log_in, sheet_of
from tests.board.whole_board import WholeBoard

__all__ = ["board"]


async def test_a_hundred_decisions_of_300_films_by_keyboard_alone(
    open_board: OpenBoard, chromium: Browser
) -> None:
    await decide_by_keyboard(open_board, chromium, films=300, decisions=100)


async def test_a_run_does_not_notice_that_the_board_was_killed(
    board: WholeBoard, chromium: Browser
) -> None:
    context = await chromium.new_context(base_url=board.url)
    context.set_default_timeout(WITHIN)
    page = await context.new_page()
    await log_in(page, board)
    await page.get_by_role("link", name="New campaign").first.click()
    await hand_in(page, "killed.csv", sheet_of(" at Night"))
    await page.get_by_role("button", name="Approve 4 rows for").click()
    await expect(page.get_by_role("table", name="Rows")).to_be_visible(timeout=WITHIN)

    await asyncio.to_thread(board.kill)
    await expect(page.get_by_text("Not live since")).to_be_visible(timeout=WITHIN)
    await picture(page, "12-not-live")
    await asyncio.to_thread(board.start_again)

    await expect(page.get_by_text("Not live since")).to_be_hidden(timeout=WITHIN)
    await expect(page.get_by_role("status", name="Progress")).to_contain_text(
        "4 of 4 delivered", timeout=WITHIN
    )
    keys = [str(line["key"]) for line in board.desk.rows("killed").values()]
    assert board.service.charged(keys) == dict.fromkeys(keys, 1)
