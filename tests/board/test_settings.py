"""The settings page: an admin adds addresses for notices, tests them, and never sees them again."""

from __future__ import annotations

import stat
from pathlib import Path

import httpx
import pytest

from callsheet.tasks.nights.inboxes import listed_inboxes
from callsheet.tasks.notices import digest
from tests.board.conftest import OpenBoard, board_at
from tests.databases import lay_ledger
from tests.hearing_of_nights import mailbox
from tests.unit.notices.made_nights import MADE, night, swept

HOOK = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"


async def add(who: httpx.AsyncClient, address: str, name: str = "Marketing") -> httpx.Response:
    return await who.post("/settings/notices", data={"name": name, "address": address})


@pytest.mark.merge
async def test_an_address_is_stored_as_a_secret_and_never_shown(open_board: OpenBoard) -> None:
    browser = await open_board.form("admin")

    added = await add(browser, HOOK)

    assert added.status_code == 201
    assert "marketing is added" in added.text
    home = open_board.board.settings.home
    (file,) = (home / "notices").iterdir()
    assert file.read_text() == HOOK
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    pages = [added, *[await browser.get(path) for path in ("/settings", "/activity")]]
    for page in pages:
        assert "XXXX" not in page.text
        assert "services/T0" not in page.text
    assert "Slack" in pages[1].text
    removed = await browser.post("/settings/notices/remove", data={"name": "marketing"})
    assert removed.status_code == 200
    assert not list((home / "notices").iterdir())


NO_ADDRESS = ("ann@example.com", "json://127.0.0.1/secret-path", "file:/etc/passwd", "env:HOME",
              "https://example.com/secret-path")  # fmt: skip


async def test_what_is_no_address_is_refused_without_repeating_it(open_board: OpenBoard) -> None:
    browser = await open_board.form("admin")

    for address, name in (*((one, "Ann") for one in NO_ADDRESS), (HOOK, "!!")):
        refused = await add(browser, address, name)
        assert refused.status_code == 422
        assert "The address was not added" in refused.text
        assert "secret-path" not in refused.text
    assert "add notices" not in (await browser.get("/activity")).text
    assert not (open_board.board.settings.home / "notices").exists()


async def test_a_test_is_sent_and_its_failure_is_shown(open_board: OpenBoard) -> None:
    browser = await open_board.form("admin")
    with mailbox() as box:
        await add(browser, box.address("ann@example.com"))
        sent = await browser.post("/settings/notices/test", data={"name": "marketing"})
        box.refusing = True
        refused = await browser.post("/settings/notices/test", data={"name": "marketing"})

    assert "The test was sent" in sent.text
    assert "mail to ann@example.com" in sent.text
    assert len(box.letters) == 1
    assert box.subjects[0].strip().startswith("Sample:")
    assert "The test was not sent" in refused.text


async def test_every_inbox_notifies_the_address_and_the_page_shows_the_digest(
    open_board: OpenBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nights.toml").write_text('[inbox.spring]\nplace = "inbox"\n')
    browser = await open_board.form("admin")
    assert "No nightly run has finished yet" in (await browser.get("/settings")).text
    ledger, settings = open_board.ledger, open_board.board.settings
    report = night("2026-11-22", MADE)
    await swept(ledger, report)
    with mailbox() as box:
        await add(browser, box.address())
        now = report.ended_at + 1
        await digest(ledger, settings, listed_inboxes(tmp_path), clock=lambda: now)
        await digest(ledger, settings, listed_inboxes(tmp_path), clock=lambda: now)
    page = await browser.get("/settings")

    assert len(box.letters) == 1
    assert box.subjects[0] in page.text.replace("&#39;", "'")


async def test_help_leads_to_the_docs(tmp_path: Path, made_ledger: Path) -> None:
    lay_ledger(tmp_path, made_ledger)
    where = {"CALLSHEET_DOCS_URL": "https://docs.example/callsheet"}
    async with board_at(tmp_path, environ=where) as board:
        page = (await (await board.form("viewer")).get("/")).text
    assert '<a href="https://docs.example/callsheet">Help</a>' in page
