"""Our webhook at the service: made once, found again, proved by a ping, replaced when it is lost.

Whoever waits for hints asks `ensure_subscription` first, and every few minutes. It never raises
for what the service does: without hints a run looks more often, and that is all. One process at a
time works on the webhooks whose secrets are in one folder.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from dataclasses import replace

from tasks.credentials import GIVEN
from tasks.errors import ServiceError
from tasks.webhooks.given import given
from tasks.webhooks.inventory import READY, Ours, Survey, look
from tasks.webhooks.lock import alone
from tasks.webhooks.making import end, make, mend, retire
from tasks.webhooks.ping import drain, missed_events, silence
from tasks.webhooks.status import Standing, Subscriber, told

log = logging.getLogger("callsheet.production")


async def ensure_subscription(at: Subscriber, *, patience: float = 10.0) -> Standing:
    """Return how our webhook stands, made or mended where needed, and proved by a ping.

    Waits up to `patience` seconds for the ping. Raises ConfigurationError when the folder of
    secrets, or a file in it, cannot be used.
    """
    if at.settings.webhook_secret:
        return await _safely(given(at, patience=patience))
    if not at.settings.webhook_url:
        return Standing(trouble="CALLSHEET_WEBHOOK_URL does not say where a receiver is reached")
    async with alone(at, patience=patience) as mine:
        return await _safely(_ensure(at, patience)) if mine else _BUSY


async def rotate_subscription(at: Subscriber, *, patience: float = 30.0) -> Standing:
    """Replace our webhook by a new one with a new secret; return how that stands.

    The old one ends only after the new one was heard, and a few seconds later: what is on its way
    through it dies with it. Errors are those of `ensure_subscription`.
    """
    if at.settings.webhook_secret:
        return Standing(nonce=GIVEN, trouble="the webhook was made elsewhere: replace it there")
    if not at.settings.webhook_url:
        return await ensure_subscription(at)
    async with alone(at, patience=patience) as mine:
        return await _safely(_rotate(at, patience)) if mine else _BUSY


_BUSY = Standing(trouble="another process is at work on the webhook; ask again in a minute")


async def _ensure(at: Subscriber, patience: float) -> Standing:
    found = await look(at)
    await mend(at, found)
    if found.here or found.elsewhere:
        return await _best(at, found, patience)
    new = None if found.making else await make(at)
    if new is None:
        return Standing(trouble="another place is about to make a webhook; ask again in a minute")
    trouble = await silence(at, new.webhook, new.entry.nonce, patience=patience)
    return replace(_standing(new, trouble), made=True)


async def _best(at: Subscriber, found: Survey, patience: float) -> Standing:
    """Return the newest webhook that is heard; those here that it replaces are ended."""
    candidates = [*found.here, *found.elsewhere]
    standing = None
    for ours in candidates:
        trouble = await silence(at, ours.webhook, ours.entry.nonce, patience=patience)
        if trouble is None:
            # A rotation that was cut off leaves two of them.
            for other in found.here:
                if other is not ours and not other.has_moved:
                    await end(at, other)
            enabled = await _revive(at, ours)
            missed = await missed_events(at, ours.webhook)
            return replace(_standing(ours, None), enabled=enabled, missed=missed)
        standing = standing or _standing(ours, _explained(ours, trouble, found))
    assert standing is not None, "there is a candidate"
    return replace(standing, missed=await missed_events(at, candidates[0].webhook))


async def _revive(at: Subscriber, ours: Ours) -> bool:
    """Enable a webhook that was heard though it is disabled; return whether it was."""
    webhook = ours.webhook
    if webhook.events and READY not in webhook.events:
        await at.service.edit_webhook(webhook.id, {"events": [*webhook.events, READY]})
    if webhook.is_active is not False:
        return False
    await at.service.edit_webhook(webhook.id, {"is_active": True})
    log.warning("webhook %s had been disabled and is active again", webhook.id)
    return True


async def _rotate(at: Subscriber, patience: float) -> Standing:
    found = await look(at)
    await mend(at, found)
    if found.making or (found.elsewhere and not found.here):
        place = found.making.place if found.making else found.elsewhere[0].entry.place
        return Standing(trouble=f"the webhook's secret is kept at {place}: replace it there")
    new = await make(at, beside=True)
    assert new is not None, "it is made beside others"
    trouble = await silence(at, new.webhook, new.entry.nonce, patience=patience)
    if trouble is None:
        missed = await drain(at, [old.webhook for old in found.here], patience=patience)
        for old in found.here:
            await (retire(at, old.entry.nonce) if old.has_moved else end(at, old))
        return replace(_standing(new, None), made=True, missed=missed)
    if not found.here:
        return replace(_standing(new, trouble), made=True)
    await end(at, new)
    return _standing(found.here[0], f"the new webhook is given up and the old one kept: {trouble}")


def _standing(ours: Ours, trouble: str | None) -> Standing:
    return Standing(
        nonce=ours.entry.nonce,
        webhook_id=ours.webhook.id,
        url=ours.webhook.url or ours.entry.url,
        heard=trouble is None,
        trouble=trouble,
    )


def _explained(ours: Ours, trouble: str, found: Survey) -> str:
    off = " It is disabled until a ping is heard." if ours.webhook.is_active is False else ""
    if ours.has_moved:
        off += f" It was made for {ours.entry.url}, and somebody has changed that."
    if found.here:
        return trouble + off
    return (
        f"{trouble}{off} Its secret is kept at {ours.entry.place}; if that place is no more, run "
        f"`callsheet webhooks delete {ours.webhook.id}`, then `callsheet webhooks ensure`"
    )


async def _safely(standing: Awaitable[Standing]) -> Standing:
    try:
        return await standing
    except ServiceError as error:
        return Standing(trouble=told(error))
