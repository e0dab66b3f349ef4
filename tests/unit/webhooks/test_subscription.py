"""What a subscription goes by: the lists of the ledger, and records of unknown shape."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from callsheet.tasks.credentials import WebhookSecret
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.webhook_events import (
    Hint,
    Subscription,
    all_subscriptions,
    events_heard,
    keep_hint,
    pings_heard,
    plan_subscription,
)
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.service import VideoService, Webhook
from callsheet.tasks.webhooks import Subscriber, new_nonce
from callsheet.tasks.webhooks.inventory import CREATE_TIMEOUT, READY, compare
from callsheet.tasks.webhooks.subscription import missed_events, ping
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


def entry(at: Subscriber, **more: Any) -> Subscription:
    given = {
        "nonce": NONCE,
        "organisation": at.organisation,
        "url": f"{BASE}/{NONCE}",
        "place": at.place,
        "made_at": NOW,
    }
    return Subscription(**{**given, **more})


def secret(at: Subscriber, **more: Any) -> Mapping[str, WebhookSecret]:
    given = {"nonce": NONCE, "organisation": at.organisation, "secret": "s" * 32, "made_at": NOW}
    return {NONCE: WebhookSecret(**{**given, **more})}


def groups(found: Any) -> dict[str, Any]:
    """Return what an inventory found, without what it found none of."""
    return {name: value for name, value in vars(found).items() if value}


async def test_a_second_ping_with_the_same_body_is_heard_again(ledger: Ledger) -> None:
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
    assert await ledger.read(events_heard, events=["evt_1", "evt_9"]) == {"evt_1"}
    assert await ledger.read(events_heard, events=[]) == set()


async def test_webhooks_are_known_by_organisation_and_by_nonce(
    ledger: Ledger, tmp_path: Path
) -> None:
    at = subscriber(ledger, tmp_path)
    for nonce, organisation in (("a", at.organisation), ("b", "other"), ("c", "other")):
        planned = entry(at, nonce=nonce, organisation=organisation)
        await at.ledger.write(plan_subscription, planned=planned)

    assert {
        one.nonce
        for one in await at.ledger.read(
            all_subscriptions, organisation=at.organisation, nonces=["b"]
        )
    } == {"a", "b"}


async def test_what_is_to_become_of_a_webhook(at: Subscriber) -> None:
    listed = [webhook(f"{BASE}/{NONCE}")]
    unnamed, elsewhere = entry(at), entry(at, place="other:/x")
    retired = entry(at, retired_at=NOW)

    def fate(
        found: Sequence[Webhook], known: Sequence[Subscription], kept: Mapping[str, Any]
    ) -> list[str]:
        return sorted(groups(compare(at, found, known=known, kept=kept)))

    assert fate(listed, [unnamed], secret(at)) == ["usable"]
    assert fate(listed, [unnamed], {}) == ["useless"]
    assert fate(listed, [unnamed], secret(at, secret="")) == ["useless"]
    assert fate(listed, [retired], secret(at)) == ["useless"]
    assert fate(listed, [elsewhere], {}) == ["usable"]
    assert fate(listed, [elsewhere], secret(at)) == ["usable"]
    assert fate(listed, [], secret(at)) == ["usable"]
    assert fate(listed, [], {}) == ["useless"]
    assert fate([], [unnamed], secret(at)) == ["gone"]
    assert fate([], [elsewhere], {}) == []
    assert fate([], [replace(elsewhere, made_at=NOW - CREATE_TIMEOUT - 1)], {}) == ["gone"]
    assert fate([], [replace(elsewhere, webhook_id="wh_1")], {}) == ["gone"]
    assert fate([], [retired, replace(unnamed, organisation="other")], {}) == []


async def test_one_that_was_given_another_address_is_never_deleted(at: Subscriber) -> None:
    listed = [webhook("https://elsewhere.example.com/videos")]
    known = [entry(at, webhook_id="wh_1")]
    usable = compare(at, listed, known=known, kept=secret(at))
    lost = compare(at, listed, known=known, kept={})

    # The service may show it as it likes: whether it can be used, a ping shows.
    assert list(groups(usable)) == ["usable"]
    assert usable.usable[0].has_moved
    assert list(groups(lost)) == ["useless"]
    assert lost.useless[0].has_moved


async def test_a_changed_setting_replaces_what_was_made_for_the_old_one(at: Subscriber) -> None:
    old = f"https://old.example.com/{NONCE}"
    known = [entry(at, webhook_id="wh_1", url=old)]
    found = compare(at, [webhook(old)], known=known, kept=secret(at))

    assert list(groups(found)) == ["useless"]


@pytest.mark.parametrize(
    "url",
    [
        "https://HOOKS.example.com:443/callsheet/" + NONCE + "/",
        None,
    ],
)
async def test_an_address_is_known_however_it_is_shown(at: Subscriber, url: str | None) -> None:
    known = [entry(at, webhook_id="wh_1")]

    assert list(groups(compare(at, [webhook(url)], known=known, kept=secret(at)))) == ["usable"]


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
async def test_what_is_not_under_our_address_is_not_ours(at: Subscriber, url: str | None) -> None:
    assert groups(compare(at, [webhook(url)], known=[], kept={})) == {}


async def test_one_for_other_events_is_not_ours(at: Subscriber) -> None:
    other = webhook(f"{BASE}/{NONCE}", events=(READY, "video.failed"))

    assert groups(compare(at, [other], known=[], kept={})) == {}


@pytest.mark.parametrize(
    ("attempt", "events"),
    [
        ({"id": "att_1", "event_id": "e-1", "event": READY}, ("e-1",)),
        ({"id": "evt_1"}, ("evt_1",)),
        ({"eventId": "e-1"}, ("e-1",)),
        ({"event": {"id": "e-1", "type": READY}}, ("e-1",)),
        ({"request": {"headers": [{"value": "evt_1"}]}}, ("evt_1",)),
        ({"id": "att_1", "event_id": "evt_1", "event": "ping"}, ()),
        ({"id": "att_1"}, ()),
        ("evt_1", ("evt_1",)),
        (None, ()),
    ],
)
async def test_events_are_found_in_records_of_any_shape(
    ours: Ledger, tmp_path: Path, attempt: Any, events: tuple[str, ...]
) -> None:
    async def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.path.endswith("/webhooks/wh_1/deliveries")
        return httpx.Response(200, json={"data": {"deliveries": [attempt, attempt]}})

    service = speaking(answer)
    at = subscriber(ours, tmp_path, service)

    assert await missed_events(at, webhook(BASE)) == events
    heard = Hint(digest="0" * 64, nonce=NONCE, event_id=events[0] if events else None)
    await ours.write(keep_hint, hint=heard, at=NOW)
    assert await missed_events(at, webhook(BASE)) == ()
    await service.aclose()


async def test_a_service_that_never_says_whether_it_pinged_is_told_of(
    ours: Ledger, tmp_path: Path
) -> None:
    async def never(_: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    service = speaking(never)
    at = subscriber(ours, tmp_path, service)
    told = await ping(at, webhook(BASE), NONCE, timeout=0.2)

    assert told == "the service has not answered in 0.2 s whether it sent a ping"
    await service.aclose()


def test_a_nonce_fits_a_path_and_the_ledger() -> None:
    nonces = {new_nonce() for _ in range(100)}

    assert len(nonces) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{32}", nonce) for nonce in nonces)
