"""Somebody who hears of nights, and an inbox that names them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.settings import load_settings
from tests.hearing_of_nights import Mailbox, mailbox
from tests.web import Watcher, watcher


@pytest.fixture
def post() -> Iterator[Mailbox]:
    with mailbox() as box:
        yield box


@pytest.fixture
def web() -> Iterator[Watcher]:
    with watcher() as seen:
        yield seen


@pytest.fixture
def inbox(post: Mailbox, tmp_path: Path) -> Inbox:
    return Inbox(
        name="spring",
        place=str(tmp_path),
        cron="0 2 * * *",
        timezone="Europe/Berlin",
        notify=(post.address(),),
        board="https://board.example",
        folder=tmp_path,
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(environ={}, folder=tmp_path)
