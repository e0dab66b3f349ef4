"""Inboxes on the settings page: what is scheduled, pauses, and a scan now."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from callsheet.tasks.ledger.audit_log import acts_of
from callsheet.tasks.ledger.nightly_runs import EVERY_INBOX, Pause, nights_of, pause, pause_of
from tests.board.conftest import OpenBoard, board_at, forked_run
from tests.databases import lay_ledger
from tests.fixtures import sandbox_fixture
from tests.programs import Sandbox, simple_sheet

TOML = """\
[inbox.spring]
place = "sheets"
cron = "0 2 * * *"
timezone = "Europe/Berlin"
approval = "auto"
per_night = 20
"""


service = sandbox_fixture("--time-scale", "600")


@pytest.fixture
async def board(
    tmp_path: Path, made_ledger: Path, service: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[OpenBoard]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nights.toml").write_text(TOML)
    for folder in ("sheets", "elsewhere"):
        (tmp_path / folder).mkdir()
    lay_ledger(tmp_path, made_ledger)
    async with board_at(tmp_path, environ=service.environ, begin=forked_run) as opened:
        yield opened


async def acts(board: OpenBoard) -> list[tuple[str, str, str | None]]:
    found = await board.ledger.read(acts_of, limit=20)
    return [(one.act, one.by, one.words) for one in found if one.act not in ("invite", "login")]


@pytest.mark.merge
async def test_the_page_says_when_an_inbox_is_due_and_paused(board: OpenBoard) -> None:
    browser = await board.form("admin")
    page = (await browser.get("/settings")).text
    assert "At 02:00 every day" in page
    assert "20 credits a night" in page

    form = {"name": "spring", "until": "3d"}
    paused = await browser.post("/settings/inboxes/pause", data=form)
    assert ">paused</span> until" in paused.text
    form["until"] = ""
    assert "until you resume it" in (await browser.post("/settings/inboxes/pause", data=form)).text
    refused = await browser.post("/settings/inboxes/scan", data={"name": "spring"})
    assert (refused.status_code, "spring is paused" in refused.text.lower()) == (422, True)

    resumed = await browser.post("/settings/inboxes/resume", data={"name": "spring"})
    assert ">paused</span>" not in resumed.text
    assert await acts(board) == [
        ("resume nights", "Ada", "spring"),
        ("pause nights", "Ada", "spring"),
        ("pause nights", "Ada", "spring"),
    ]


async def test_a_pause_of_all_inboxes_is_ended_for_all(board: OpenBoard) -> None:
    everything = Pause(inbox=EVERY_INBOX, until=None, by="Ben", at=1.0)
    await board.ledger.write(pause, found=[everything])
    browser = await board.form("admin")
    assert "Resume all inboxes" in (await browser.get("/settings")).text

    await browser.post("/settings/inboxes/resume", data={"name": EVERY_INBOX})

    assert await board.ledger.read(pause_of, inbox="spring", at=time.time()) is None


CANNOT_BE = [
    ("pause", "spring", "tomorrow", "is neither a date nor a duration"),
    ("pause", "spring", "2020-01-01", "has passed"),
    ("pause", "autumn", "3d", "is listed in nights.toml"),
    ("resume", "autumn", "", "is listed in nights.toml"),
    ("scan", "elsewhere", "", "is listed in nights.toml"),
    ("scan", "s" * 500, "", "is listed in nights.toml"),
]


async def test_what_cannot_be_is_a_sentence_and_changes_nothing(board: OpenBoard) -> None:
    browser = await board.form("admin")

    for verb, name, until, said in CANNOT_BE:
        form = {"name": name, "until": until}
        refused = await browser.post(f"/settings/inboxes/{verb}", data=form)
        assert (refused.status_code, said in refused.text) == (422, True), (verb, name)
    assert (await acts(board), board.board.asked) == ([], set())


async def test_a_schedule_that_never_comes_is_a_sentence(board: OpenBoard, tmp_path: Path) -> None:
    (tmp_path / "nights.toml").write_text(TOML.replace("0 2 * * *", "0 0 31 2 *"))
    browser = await board.form("admin")

    shown = await browser.get("/settings")
    refused = await browser.post("/settings/inboxes/scan", data={"name": "spring"})

    assert (shown.status_code, refused.status_code) == (200, 422)
    for page in (shown, refused):
        assert "inbox.spring.cron is not a schedule" in page.text
    assert (await acts(board), board.board.asked) == ([], set())


@pytest.mark.merge
async def test_a_scan_makes_what_fits_the_limit_of_the_inbox(
    board: OpenBoard, tmp_path: Path
) -> None:
    for number, rows in enumerate((1, 2)):
        sheet = tmp_path / "sheets" / f"n{number}-{abs(hash(str(tmp_path))):x}.csv"
        sheet.write_text(simple_sheet(rows, title=f"Sheet {number}"))
        os.utime(sheet, (time.time() - 1000,) * 2)
    browser = await board.form("admin")

    begun = await browser.post("/settings/inboxes/scan", data={"name": "spring"})
    page = begun.text
    assert ">scanning</span>" in page
    async with asyncio.timeout(120):
        while ">scanning</span>" in page:
            await asyncio.sleep(0.2)
            page = (await browser.get("/settings")).text

    (night,) = await board.ledger.read(nights_of, inbox="spring", limit=2)
    # The second sheet costs more than the night has left: it asks, as in any night.
    assert (night.exit, night.approved) == (4, 15)
    assert len([*(tmp_path / "deliveries").rglob("*.mp4")]) == 1
    assert "asks, 15 credits" in page
    assert ("scan", "Ada", "spring") in await acts(board)
