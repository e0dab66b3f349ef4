"""Makes sure that one webhook subscription works: found, created, proved by a ping, replaced.

Anyone who waits for hints asks `ensure_subscription` first, and every few minutes. It never
raises for what the service does: without hints a run polls more often, and that is all. One
process at a time works on the webhooks whose secrets are in one folder. A webhook made elsewhere,
by hand, has its secret in the settings and is left as it is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import replace
from functools import partial

from callsheet.tasks.credentials import GIVEN
from callsheet.tasks.ledger.webhook_events import last_heard, pings_heard
from callsheet.tasks.runtime.errors import ServiceError, shorten
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.service import Webhook
from callsheet.tasks.service import operations as ops
from callsheet.tasks.values.briefs import Json
from callsheet.tasks.webhooks.inventory import (
    READY,
    OwnWebhook,
    Subscriber,
    SubscriptionStatus,
    WebhookInventory,
    create,
    delete,
    folder_lock,
    is_same,
    is_under,
    repair,
    take_inventory,
)

log = logging.getLogger("callsheet.webhooks")

#: Where no ping can be asked for, a delivery of the last day shows that hints come through.
LATELY = 86400.0


async def ensure_subscription(at: Subscriber, *, ping_timeout: float = 10.0) -> SubscriptionStatus:
    """Return the status of our webhook, made or repaired where needed, and proved by a ping.

    Waits up to `ping_timeout` seconds for the ping. Raises ConfigurationError when the folder of
    secrets, or a file in it, cannot be used.
    """
    if at.settings.webhook_secret:
        return await _or_trouble(_check_given(at, ping_timeout))
    if not at.settings.webhook_url:
        trouble = "CALLSHEET_WEBHOOK_URL does not say where a receiver is reached"
        return SubscriptionStatus(trouble=trouble)
    async with folder_lock(at, timeout=ping_timeout) as mine:
        return await _or_trouble(_ensure(at, ping_timeout)) if mine else _BUSY


async def rotate_subscription(at: Subscriber, *, ping_timeout: float = 30.0) -> SubscriptionStatus:
    """Replace our webhook by a new one with a new secret; return the status of that.

    The old one ends only after the new one was received, and a few seconds later: what is on its
    way through it dies with it. Errors are those of `ensure_subscription`.
    """
    if at.settings.webhook_secret:
        trouble = "the webhook was made elsewhere: replace it there"
        return SubscriptionStatus(nonce=GIVEN, trouble=trouble)
    if not at.settings.webhook_url:
        return await ensure_subscription(at)
    async with folder_lock(at, timeout=ping_timeout) as mine:
        return await _or_trouble(_rotate(at, ping_timeout)) if mine else _BUSY


_BUSY = SubscriptionStatus(
    trouble="another process is at work on the webhook; ask again in a minute"
)
_ELSEWHERE = "the webhook was made by another machine, which has its secret"


async def _or_trouble(status: Awaitable[SubscriptionStatus]) -> SubscriptionStatus:
    try:
        return await status
    except ServiceError as error:
        return SubscriptionStatus(trouble=_said_by(error))


async def _ensure(at: Subscriber, timeout: float) -> SubscriptionStatus:
    found = await take_inventory(at)
    await repair(at, found)
    if found.usable:
        return await _first_heard(at, found, timeout)
    new = await create(at)
    unheard = await ping(at, new.webhook, new.secret.nonce, timeout=timeout)
    return replace(_status(new, unheard), made=True)


async def _first_heard(
    at: Subscriber, found: WebhookInventory, timeout: float
) -> SubscriptionStatus:
    """Return the newest webhook that is received; those here that it replaces are deleted."""
    status = None
    for own in found.usable:
        trouble = await ping(at, own.webhook, own.secret.nonce, timeout=timeout)
        if trouble is None:
            # A rotation that was cut off leaves two of them.
            for other in found.here:
                if other is not own and not other.has_moved:
                    await delete(at, other)
            return replace(_status(own, None), enabled=await _enable(at, own.webhook))
        status = status or _status(own, _explained(own, trouble, found))
    assert status is not None, "there is a candidate"
    return status


async def _enable(at: Subscriber, webhook: Webhook) -> bool:
    """Enable a webhook that was received though it is disabled; return whether it was."""
    if webhook.events and READY not in webhook.events:
        await at.service.ask(ops.EDIT_WEBHOOK, webhook.id, {"events": [*webhook.events, READY]})
    if webhook.is_active is not False:
        return False
    await at.service.ask(ops.EDIT_WEBHOOK, webhook.id, {"is_active": True})
    log.warning("webhook %s had been disabled and is active again", webhook.id)
    return True


async def _rotate(at: Subscriber, timeout: float) -> SubscriptionStatus:
    found = await take_inventory(at)
    await repair(at, found)
    if not found.usable:
        return await _ensure(at, timeout)
    if not found.here:
        return SubscriptionStatus(trouble=f"{_ELSEWHERE}: replace it there")
    new = await create(at)
    unheard = await ping(at, new.webhook, new.secret.nonce, timeout=timeout)
    if unheard is None:
        await at.sleep(IN_FLIGHT)
        for old in found.here:
            await delete(at, old)
        return replace(_status(new, None), made=True)
    await delete(at, new)
    return _status(found.here[0], f"the new webhook is given up and the old one kept: {unheard}")


async def _check_given(at: Subscriber, timeout: float) -> SubscriptionStatus:
    """Have the webhook that was made elsewhere pinged."""
    status = SubscriptionStatus(nonce=GIVEN)
    trouble = "no webhook at the service leads to CALLSHEET_WEBHOOK_URL, so no ping can be sent"
    try:
        for webhook in await at.service.ask(ops.LIST_WEBHOOKS):
            if not _leads_here(at, webhook):
                continue
            unheard = await ping(at, webhook, GIVEN, timeout=timeout)
            status = replace(status, webhook_id=webhook.id, url=webhook.url)
            if unheard is None:
                enable = suggest("webhooks edit", webhook.id, "--enable")
                off = f"{webhook.id} is disabled: `{enable}`"
                disabled = off if webhook.is_active is False else None
                return replace(status, heard=True, trouble=disabled)
            trouble = unheard
    except ServiceError as error:
        trouble = _said_by(error)
    heard_at = await at.ledger.read(last_heard, nonce=GIVEN)
    if status.webhook_id is None and heard_at is not None and at.clock() - heard_at < LATELY:
        return status
    return replace(status, trouble=trouble)


def _leads_here(at: Subscriber, webhook: Webhook) -> bool:
    url = at.settings.webhook_url
    if url is None or webhook.url is None:
        return False
    return is_same(webhook.url, url) or is_under(at.prefix, webhook.url)


def _status(own: OwnWebhook, trouble: str | None) -> SubscriptionStatus:
    return SubscriptionStatus(
        nonce=own.secret.nonce,
        webhook_id=own.webhook.id,
        url=own.webhook.url or own.secret.url,
        heard=trouble is None,
        trouble=trouble,
    )


def _explained(own: OwnWebhook, trouble: str, found: WebhookInventory) -> str:
    off = " It is disabled until a ping arrives." if own.webhook.is_active is False else ""
    if own.has_moved:
        off += f" It was made for {own.secret.url}, and that was changed since."
    if found.here:
        return trouble + off
    return (
        f"{trouble}{off} Note that {_ELSEWHERE}. If that machine is gone, run "
        f"`{suggest('webhooks delete', own.webhook.id)}`, then `callsheet webhooks ensure`"
    )


def _said_by(error: ServiceError) -> str:
    return f"{error}; {error.remedy}" if error.remedy else str(error)


# Whether deliveries come through: a ping that is asked for.
#
# The inbox is the proof. What the service says of a ping is of unknown shape, and is for people.


#: Seconds between two polls of the inbox.
INBOX_INTERVAL = 0.1
#: A delivery that does not fail is made within so many seconds of its event: a webhook that is
#: replaced ends later, since what is on its way through it ends with it.
IN_FLIGHT = 5.0
#: Clocks of receiver and asker differ by less than this, in seconds.
SKEW = 86400.0

_WHY = ("error", "error_message", "message", "status", "status_code", "response_status")


async def ping(at: Subscriber, webhook: Webhook, nonce: str, *, timeout: float) -> str | None:
    """Have a ping sent; return None once the inbox has it, signed by `nonce`, else what is wrong.

    Waits up to `timeout` seconds. Raises ServiceError when the service sends none.
    """
    mark = partial(pings_heard, nonce=nonce, since=at.clock() - SKEW)
    before = await at.ledger.read(mark)
    asking = asyncio.ensure_future(at.service.ask(ops.TEST_WEBHOOK, webhook.id))
    # Once the ping is received, it is all the same what the service says of it.
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
