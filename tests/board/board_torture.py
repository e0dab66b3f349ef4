"""What takes long on the board: many videos, other looks, and deaths while a run is at work."""

from __future__ import annotations

import asyncio
import json
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, FilePayload, expect

from tests.board.conftest import OpenBoard
from tests.board.kills import kill_board, kill_run
from tests.board.test_killed import name, service
from tests.board.test_screens_in_a_browser import look_through
from tests.board.test_videos_by_keyboard import decide_by_keyboard
from tests.launcher import Process
from tests.programs import Desk, Sandbox, sandbox, simple_sheet
from tests.torture.sweep import Kill

__all__ = ["name", "service"]

WITHIN = 60_000


@pytest.mark.parametrize("how", ["dark", "phone"])
async def test_nobody_is_kept_out(open_board: OpenBoard, chromium: Browser, how: str) -> None:
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


async def test_a_hundred_decisions_by_keyboard(open_board: OpenBoard, chromium: Browser) -> None:
    await decide_by_keyboard(open_board, chromium, videos=300, decisions=100)


@dataclass
class WholeBoard:
    """A board's process, and what it said when it was ready."""

    desk: Desk
    process: Process
    said: dict[str, Any]

    @classmethod
    def start(cls, desk: Desk, port: str = "0") -> WholeBoard:
        process = desk.start("board", "--port", port, "--json")
        return cls(desk, process, json.loads(process.stdout.readline()))

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def start_again(self) -> None:
        """Start it where it was."""
        again = self.start(self.desk, self.said["url"].rpartition(":")[2])
        self.process, self.said = again.process, again.said


async def test_a_run_does_not_notice_that_the_board_was_killed(
    tmp_path: Path, chromium: Browser
) -> None:
    with sandbox(tmp_path / "service") as whole:
        (tmp_path / "desk").mkdir()
        board = WholeBoard.start(Desk(tmp_path / "desk", whole.environ))
        try:
            await _kill_beside_a_browser(board, whole, chromium)
        finally:
            board.process.terminate()
            board.process.communicate(timeout=60)


async def _kill_beside_a_browser(board: WholeBoard, whole: Sandbox, chromium: Browser) -> None:
    context = await chromium.new_context(base_url=board.said["url"])
    context.set_default_timeout(WITHIN)
    page = await context.new_page()
    await page.goto("/login")
    await page.get_by_label("Token").fill(board.said["token"])
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_role("link", name="New campaign").first.click()
    sheet = FilePayload(name="killed.csv", mimeType="text/csv", buffer=simple_sheet(4).encode())
    await page.get_by_label("Sheet", exact=True).set_input_files(sheet)
    await page.get_by_role("button", name="Check").click()
    await page.get_by_role("button", name="Approve 4 rows for").click()
    await expect(page.get_by_role("table", name="Rows")).to_be_visible(timeout=WITHIN)

    await asyncio.to_thread(board.kill)
    await expect(page.get_by_text("Not live since")).to_be_visible(timeout=WITHIN)
    await asyncio.to_thread(board.start_again)

    await expect(page.get_by_text("Not live since")).to_be_hidden(timeout=WITHIN)
    await expect(page.get_by_role("status", name="Progress")).to_contain_text(
        "4 of 4 delivered", timeout=WITHIN
    )
    keys = [str(line["key"]) for line in board.desk.rows("killed").values()]
    assert whole.charged(keys) == dict.fromkeys(keys, 1)
