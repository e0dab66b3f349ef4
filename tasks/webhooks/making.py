"""Makes a webhook of ours and ends one, each in an order that a crash cannot turn into a loss.

Before a create is sent, the secret has its place on the disk and the ledger knows of it; after it,
the secret is saved before anything else. What is left half done is found by the next survey.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial

from sqlalchemy import Connection

from tasks.credentials import (
    WebhookSecret,
    drop_webhook_secret,
    keep_webhook_secret,
    read_webhook_secret,
    read_webhook_secrets,
    retire_webhook_secret,
)
from tasks.errors import NotFound, NotSent, RateLimited, Refused, ShapeError
from tasks.ledger import (
    Subscription,
    all_subscriptions,
    name_subscription,
    plan_subscription,
    retire_subscription,
)
from tasks.service.operations import CREATE_WEBHOOK
from tasks.webhooks.inventory import READY, Ours, Survey
from tasks.webhooks.status import Subscriber


async def make(at: Subscriber, *, beside: bool = False) -> Ours | None:
    """Make a webhook; None when another place was quicker, unless it is made `beside` others.

    The create is sent once. Raises ServiceError: when its outcome is not known, the next survey
    finds what it left, and deletes it, because nobody has its secret.
    """
    nonce, now = at.nonce(), at.clock()
    held = WebhookSecret(nonce=nonce, organisation=at.organisation, secret="", made_at=now)
    keep_webhook_secret(at.folder, held)
    planned = Subscription(
        nonce=nonce,
        organisation=at.organisation,
        url=at.prefix + nonce,
        place=at.place,
        made_at=now,
    )
    if not await at.ledger.write(partial(_plan, planned=planned, beside=beside)):
        drop_webhook_secret(at.folder, nonce)
        return None
    try:
        webhook = await at.service.create_webhook(planned.url, [READY])
    except (NotSent, RateLimited, Refused):
        await retire(at, nonce)
        raise
    if webhook.secret is None:
        await end(at, Ours(webhook=webhook, entry=planned))
        raise ShapeError(
            "create webhook: the service showed no secret, so nothing of it can be verified",
            operation=CREATE_WEBHOOK.name,
            remedy="make one in the service's own pages, and set CALLSHEET_WEBHOOK_SECRET",
        )
    keep_webhook_secret(at.folder, replace(held, secret=webhook.secret))
    await at.ledger.write(partial(name_subscription, nonce=nonce, webhook_id=webhook.id))
    return Ours(webhook=webhook, entry=replace(planned, webhook_id=webhook.id))


async def end(at: Subscriber, ours: Ours) -> None:
    """Delete a webhook at the service, then have its secret end; raise ServiceError."""
    with contextlib.suppress(NotFound):
        await at.service.delete_webhook(ours.webhook.id)
    await retire(at, ours.entry.nonce)


async def retire(at: Subscriber, nonce: str) -> None:
    """Record that a webhook is used no more; its secret is taken for a while longer."""
    await at.ledger.write(partial(retire_subscription, nonce=nonce, at=at.clock()))
    kept = read_webhook_secret(at.folder, nonce)
    if kept is not None and not kept.secret:
        drop_webhook_secret(at.folder, nonce)
    retire_webhook_secret(at.folder, nonce, at=at.clock())


async def mend(at: Subscriber, found: Survey) -> None:
    """Bring service, ledger and secrets to what a survey has found; raise ServiceError."""
    for ours in found.doomed:
        await end(at, ours)
    for nonce in sorted(found.gone):
        await retire(at, nonce)
    for ours in found.here:
        await _record(at, ours)
    for secret in read_webhook_secrets(at.folder):
        if secret.retired_at is not None and not secret.lives(at.clock()):
            drop_webhook_secret(at.folder, secret.nonce)


async def _record(at: Subscriber, ours: Ours) -> None:
    """Enter a webhook into the ledger that a lost ledger, or a crash, has left without its id."""
    nonce, webhook_id = ours.entry.nonce, ours.webhook.id
    if not ours.recorded:
        await at.ledger.write(partial(plan_subscription, planned=ours.entry))
        kept = read_webhook_secret(at.folder, nonce)
        if kept is not None and kept.organisation != at.organisation:
            # The key was replaced since: it is the same organisation under another fingerprint.
            keep_webhook_secret(at.folder, replace(kept, organisation=at.organisation))
    elif ours.entry.webhook_id != webhook_id:
        await at.ledger.write(partial(name_subscription, nonce=nonce, webhook_id=webhook_id))


def _plan(connection: Connection, planned: Subscription, *, beside: bool) -> bool:
    """Commit the plan; return False, and plan nothing, while another place has a webhook."""
    known = all_subscriptions(connection, planned.organisation)
    if not beside and any(one.retired_at is None and one.place != planned.place for one in known):
        return False
    plan_subscription(connection, planned)
    return True
