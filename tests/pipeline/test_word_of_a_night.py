"""Nights with real videos: what a person reads in the morning, and when nobody reads anything."""

from __future__ import annotations

import asyncio
import io
import os
import time
from collections.abc import Iterator
from decimal import Decimal
from email.message import EmailMessage
from pathlib import Path

import pytest
from PIL import Image

from callsheet.flows.nightly_run import sweep
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices import digest
from callsheet.tasks.runtime.settings import load_settings
from tests.hearing_of_nights import Mailbox, mailbox
from tests.programs import Sandbox, simple_sheet

BROKEN = "id,tool,title\na,,\nb,no-such-tool,B\n"


@pytest.fixture
def post() -> Iterator[Mailbox]:
    with mailbox() as box:
        yield box


async def hold(inbox: Inbox, service: Sandbox, folder: Path, night: str) -> Decimal:
    """Sweep an inbox in a night and tell of it; return what it was charged."""
    settings = load_settings(environ=service.environ, folder=folder)
    report = await sweep(inbox, settings, night=night, zone="UTC", sleep=asyncio.sleep)
    async with await open_ledger(settings.ledger) as ledger:
        await digest(ledger, settings, [inbox], report=report, clock=time.time)
    return report.charged


def lay(folder: Path, name: str, text: str) -> None:
    """Put a sheet into the inbox, as if it had lain there for a while."""
    file = folder / name
    file.write_text(text)
    os.utime(file, (time.time() - 1000,) * 2)


def pictures(mail: EmailMessage) -> list[tuple[int, int]]:
    """Return the sizes of the pictures in a mail."""
    found = [part for part in mail.walk() if part.get_content_maintype() == "image"]
    return [Image.open(io.BytesIO(part.get_payload(decode=True))).size for part in found]  # type: ignore[arg-type]


async def test_a_night_is_read_in_the_morning_and_the_next_one_is_silent(
    tmp_path: Path, service: Sandbox, post: Mailbox, name: str
) -> None:
    folder = tmp_path / "inbox"
    folder.mkdir()
    lay(folder, f"{name}-made.csv", simple_sheet(2, title=f"{name} made"))
    lay(folder, f"{name}-dear.csv", simple_sheet(9, title=f"{name} dear"))
    lay(folder, f"{name}-broken.csv", BROKEN)
    inbox = Inbox(
        name="spring",
        place=str(folder),
        approval="auto",
        per_night=Decimal(1000),
        per_sheet=Decimal(45),
        notify=(post.address(),),
        board="https://board.example",
    )

    charged = [await hold(inbox, service, tmp_path, f"2026-11-2{day}") for day in (0, 1)]

    (mail,) = post.letters
    text, page = mail.get_body(("plain",)), mail.get_body(("html",))
    said, shown = text.get_content(), page.get_content()
    assert charged == [30, 0]
    assert mail["Subject"] == (
        "3 campaigns: 2 of 11 videos ready, 1 approval to give, 1 sheet to fix, "
        "30 credits in this run"
    )
    assert "9 videos for 135 credits wait for your approval" in said
    assert "https://board.example/plans/" in said
    assert f"{name}-broken.csv.report.csv" in said
    assert len(pictures(mail)) == 2
    assert len(set(pictures(mail))) == 1
    for number in range(2):
        assert f'src="cid:video{number}"' in shown
    assert f"https://board.example/c/{name}-made/videos" in shown
