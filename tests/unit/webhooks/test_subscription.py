"""What a subscription goes by: the lists of the ledger, and records of unknown shape."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from callsheet.tasks.credentials import WebhookSecret
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.webhook_events import Hint, keep_hint, pings_heard
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.service import VideoService, Webhook
from callsheet.tasks.webhooks import Subscriber, new_nonce
from callsheet.tasks.webhooks.inventory import READY, compare
from callsheet.tasks.webhooks.subscription import ping
from tests.lent import lent

NOW = 1_700_000_000.0
BASE = "https://hooks.example.com/callsheet"
NONCE = "Xk3vQ0mZbT9aLw2RfYc7Nd5H"


def subscriber(ledger: Ledger, folder: Path, service: Any = None) -> Subscriber:
    environ = {
        "CALLSHEET_BASE_URL": "https://videos.example.com/api/v1",
        "CALLSHEET_API_KEY": "mav_test",
        "CALLSHEET_WEBHOOK_URL": BASE,
    }
    settings = load_settings(environ=environ, folder=folder)
    return Subscriber(settings=settings, ledger=ledger, service=service, clock=lambda: NOW)


def speaking(answer: Callable[[httpx.Request], Awaitable[httpx.Response]]) -> VideoService:
    return VideoService(
        base_url="https://videos.example.com/api/v1",
        api_key="mav_test",
        connections=lent(httpx.MockTransport(answer)),
    )


@pytest.fixture
async def ours(made_ledger: Path, tmp_path: Path) -> AsyncIterator[Ledger]:
    """A ledger where it does not matter which database has it."""
    shutil.copy(made_ledger, tmp_path / "made.db")
    async with await open_ledger(f"sqlite:///{tmp_path / 'made.db'}") as opened:
        yield opened


@pytest.fixture
def at(ours: Ledger, tmp_path: Path) -> Subscriber:
    return subscriber(ours, tmp_path)


def webhook(url: str | None, **more: Any) -> Webhook:
    given = {"id": "wh_1", "events": (READY,), "name": None, "is_active": True}
    return Webhook(url=url, **{**given, **more})


def secret(at: Subscriber, **more: Any) -> WebhookSecret:
    given = {"organisation": at.organisation, "url": f"{BASE}/{NONCE}", "secret": "s" * 32}
    return WebhookSecret(nonce=NONCE, **{**given, "made_at": NOW, **more})


def groups(found: Any) -> dict[str, Any]:
    """Return what an inventory found, without what it found none of."""
    return {name: value for name, value in vars(found).items() if value}


async def test_a_second_ping_with_the_same_body_is_heard_again(ledger):
    ping = Hint(digest="0" * 64, nonce=NONCE, ping=True, event_id="evt_1")
    mark = partial(pings_heard, nonce=NONCE, since=NOW - 60)
    marks = [await ledger.read(mark)]
    for moment, event in ((NOW, "evt_1"), (NOW + 1, "evt_2")):
        await ledger.write(keep_hint, hint=replace(ping, event_id=event), at=moment)
        marks.append(await ledger.read(mark))
    real = replace(ping, digest="1" * 64, ping=False, event_id="evt_3")
    await ledger.write(keep_hint, hint=real, at=NOW + 2)

    assert len(set(marks)) == 3
    assert await ledger.read(mark) == marks[-1], "only pings count"
    assert await ledger.read(pings_heard, nonce="other", since=0.0) == (None, None)


async def test_what_is_to_become_of_a_webhook(at):
    listed = [webhook(f"{BASE}/{NONCE}")]

    def fate(found: Sequence[Webhook], *kept: WebhookSecret) -> list[str]:
        return sorted(groups(compare(at, found, kept)))

    assert fate(listed, secret(at)) == ["here"]
    assert fate(listed) == ["elsewhere"]
    assert fate(listed, secret(at, secret="")) == ["useless"]
    assert fate(listed, secret(at, retired_at=NOW)) == ["useless"]
    assert fate(listed, secret(at, organisation="other")) == ["here"]
    assert fate([], secret(at)) == ["gone"]
    assert fate([], secret(at, secret="")) == ["gone"]
    assert fate([], secret(at, retired_at=NOW)) == []
    assert fate([], secret(at, organisation="other")) == []
    # A changed setting replaces what was made for the old one; one for other events is not ours.
    old = f"https://old.example.com/{NONCE}"
    assert fate([webhook(old)], secret(at, url=old)) == ["useless"]
    assert fate([webhook(f"{BASE}/{NONCE}", events=(READY, "video.failed"))]) == []


async def test_one_that_was_given_another_address_is_known_and_never_deleted(at):
    listed = [webhook("https://elsewhere.example.com/videos")]
    usable = compare(at, listed, [secret(at, webhook_id="wh_1")])
    useless = compare(at, listed, [secret(at, webhook_id="wh_1", retired_at=NOW)])

    # The service may show it as it likes: whether it can be used, a ping shows.
    assert list(groups(usable)) == ["here"]
    assert usable.here[0].has_moved
    assert list(groups(useless)) == ["useless"]
    assert useless.useless[0].has_moved


@pytest.mark.parametrize("url", ["https://HOOKS.example.com:443/callsheet/" + NONCE + "/", None])
async def test_an_address_is_known_however_it_is_shown(at, url):
    found = compare(at, [webhook(url)], [secret(at, webhook_id="wh_1")])

    assert list(groups(found)) == ["here"]
    assert not found.here[0].has_moved


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com/callsheet",
        "https://hooks.example.com/callsheet/",
        "https://hooks.example.com/callsheet/video-ready-in-lower-case",
        "https://hooks.example.com/callsheet/Short1",
        f"https://hooks.example.com/callsheet/team/{NONCE}",
        f"https://hooks.example.com/callsheet/{NONCE}?for=them",
        f"https://hooks.example.com/callsheets/{NONCE}",
        f"https://hooks.example.com.evil.example/callsheet/{NONCE}",
        f"http://hooks.example.com/callsheet/{NONCE}",
        "https://[broken/" + NONCE,
        None,
    ],
)
async def test_what_is_not_under_our_address_is_not_ours(at, url):
    assert groups(compare(at, [webhook(url)], [])) == {}


async def test_a_service_that_never_says_whether_it_pinged_is_told_of(ours, tmp_path):
    async def never(_: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    service = speaking(never)
    at = subscriber(ours, tmp_path, service)
    told = await ping(at, webhook(BASE), NONCE, timeout=0.2)

    assert told == "the service has not answered in 0.2 s whether it sent a ping"
    await service.aclose()


def test_a_nonce_fits_a_path_and_the_inbox():
    nonces = {new_nonce() for _ in range(100)}

    assert len(nonces) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{32}", nonce) for nonce in nonces)
