"""Whether deliveries come through: a ping that is asked for, and the service's list of attempts.

The inbox is the proof. What the service says of a ping or a delivery is of unknown shape, and is
for people.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from functools import partial

from callsheet.tasks.brief import Json
from callsheet.tasks.errors import ServiceError, shorten
from callsheet.tasks.ledger import events_heard, pings_heard
from callsheet.tasks.redact import redact
from callsheet.tasks.service import Webhook
from callsheet.tasks.webhooks.inventory import READY
from callsheet.tasks.webhooks.subscriber import Subscriber

log = logging.getLogger("callsheet.webhooks")

#: Seconds between two polls of the inbox.
INBOX_INTERVAL = 0.1
#: A delivery that does not fail is made within so many seconds of its event.
IN_FLIGHT = 5.0
#: Clocks of receiver and asker differ by less than this, in seconds.
SKEW = 86400.0

_EVENT_ID = ("event_id", "eventId", "event-id")
_KIND = ("event", "kind", "type", "event_type", "event_kind")
_WHY = ("error", "error_message", "message", "status", "status_code", "response_status")


async def ping(at: Subscriber, webhook: Webhook, nonce: str, *, timeout: float) -> str | None:
    """Have a ping sent; return None once the inbox has it, signed by `nonce`, else what is wrong.

    Waits up to `timeout` seconds. Raises ServiceError when the service sends none.
    """
    mark = partial(pings_heard, nonce=nonce, since=at.clock() - SKEW)
    before = await at.ledger.read(mark)
    asking = asyncio.ensure_future(at.service.test_webhook(webhook.id))
    # Once the ping is heard, it is all the same what the service says of it.
    asking.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        for _ in range(max(1, round(timeout / INBOX_INTERVAL))):
            await at.sleep(INBOX_INTERVAL)
            if await at.ledger.read(mark) != before:
                return None
            if asking.done() and asking.exception() is not None:
                break
        return _silence(webhook, asking, timeout)
    finally:
        asking.cancel()


async def missed_events(at: Subscriber, webhook: Webhook) -> tuple[str, ...]:
    """Return the events among the last 50 attempts that did not come in; empty if nobody says."""
    try:
        attempts = await at.service.deliveries(webhook.id)
    except ServiceError as error:
        log.info("what was missed is not known: %s", error)
        return ()
    told = list(dict.fromkeys(event for one in attempts for event in _events_of(one)))
    known = await at.ledger.read(partial(events_heard, events=told))
    return tuple(event for event in told if event not in known)


async def drain(at: Subscriber, webhooks: Sequence[Webhook], *, timeout: float) -> tuple[str, ...]:
    """Let what is on its way through webhooks arrive, before they end; return what did not.

    Waits `IN_FLIGHT` seconds for what was not tried yet, and `timeout` for what has failed.
    """
    live = [webhook for webhook in webhooks if webhook.is_active is not False]
    if not live:
        return ()
    await at.sleep(IN_FLIGHT)
    for _ in range(max(1, round(timeout))):
        missed = [event for webhook in live for event in await missed_events(at, webhook)]
        if not missed:
            return ()
        await at.sleep(1.0)
    return tuple(dict.fromkeys(missed))


def _silence(webhook: Webhook, asking: asyncio.Future[Json], timeout: float) -> str:
    if not asking.done():
        return f"the service has not answered in {timeout:g} s whether it sent a ping"
    said = asking.result()
    why = said if isinstance(said, dict) else {}
    told = [f"{name}: {why[name]}" for name in _WHY if why.get(name) not in (None, "")]
    after = f" (the service says {shorten(redact(', '.join(told)), 160)})" if told else ""
    where = redact(webhook.url or webhook.id)
    return (
        f"a ping to {where} was not heard within {timeout:g} s{after}; "
        "is a receiver at work there (`callsheet receive`), with this ledger?"
    )


def _events_of(attempt: Json) -> Iterator[str]:
    """Return the ids of the events that an attempt names, unless it is about another kind."""
    if isinstance(attempt, dict):
        kinds = [attempt[name] for name in _KIND if isinstance(attempt.get(name), str)]
        if kinds and READY not in kinds:
            return
    yield from _ids_in(attempt)


def _ids_in(value: Json, within: str = "", name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for inner_name, inner in value.items():
            yield from _ids_in(inner, name, inner_name)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _ids_in(inner, within, name)
    elif isinstance(value, str) and (
        name in _EVENT_ID or value.startswith("evt_") or (within, name) == ("event", "id")
    ):
        yield value
