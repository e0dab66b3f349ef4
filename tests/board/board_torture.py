"""What takes long on the board: many videos, other looks, and deaths while a run is at work."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.board.conftest import OpenBoard
from tests.board.kills import Kill, kill_board, kill_run
from tests.board.looking import picture
from tests.board.test_killed import name, service
from tests.board.test_screens_in_a_browser import look_through
from tests.board.test_videos_by_keyboard import decide_by_keyboard
from tests.board.test_whole_way import WITHIN, board, hand_in, log_in, sheet_of
from tests.board.whole_board import WholeBoard
from tests.programs import Sandbox

__all__ = ["board", "name", "service"]


@pytest.mark.parametrize("how", ["dark", "phone"])
async def test_nobody_is_kept_out_of_a_page(
    open_board: OpenBoard, chromium: Browser, how: str
) -> None:
    await look_through(open_board, chromium, how)


async def test_a_run_that_is_killed_once_its_plan_is_approved_is_carried_on(
    tmp_path: Path, service: Sandbox, name: str
) -> None:
    kill = Kill("run: its campaign is free")
    assert (await kill_run(tmp_path, service, name, kill)).findings == []


async def test_a_board_that_is_killed_once_a_run_is_started_starts_no_other(
    tmp_path: Path, service: Sandbox, name: str
) -> None:
    kill = Kill("board: after a run is started")
    assert (await kill_board(tmp_path, service, name, kill)).findings == []


async def test_a_hundred_decisions_of_300_videos_by_keyboard_alone(
    open_board: OpenBoard, chromium: Browser
) -> None:
    await decide_by_keyboard(open_board, chromium, videos=300, decisions=100)


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
