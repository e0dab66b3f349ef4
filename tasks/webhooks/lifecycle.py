"""Creates, repairs and deletes a webhook of ours, each in an order no crash can turn into a loss.

Before a create is sent, the secret has its place on the disk and the ledger knows of it; after it,
the secret is saved before anything else. What is left half done is found by the next inventory.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.credentials import (
    WebhookSecret,
    drop_webhook_secret,
    keep_webhook_secret,
    read_webhook_secret,
    read_webhook_secrets,
    retire_webhook_secret,
)
from callsheet.tasks.credentials.private_file import make_private_folder
from callsheet.tasks.errors import (
    ConfigurationError,
    NotFound,
    NotSent,
    RateLimited,
    Refused,
    ShapeError,
)
from callsheet.tasks.ledger import (
    Subscription,
    all_subscriptions,
    name_subscription,
    plan_subscription,
    retire_subscription,
)
from callsheet.tasks.service.operations import CREATE_WEBHOOK
from callsheet.tasks.store.disk import try_open_locked
from callsheet.tasks.webhooks.inventory import READY, OwnWebhook, WebhookInventory
from callsheet.tasks.webhooks.subscriber import Subscriber

#: Seconds between two tries to have the folder of secrets.
LOCK_INTERVAL = 0.1


@asynccontextmanager
async def folder_lock(at: Subscriber, *, timeout: float) -> AsyncIterator[bool]:
    """Hold the folder of secrets for us alone, or yield False when somebody else has it too long.

    The lock is the system's and ends with its process. Raises ConfigurationError when the folder
    cannot be used.
    """
    make_private_folder(at.folder)
    held = None
    try:
        for _ in range(max(1, round(timeout / LOCK_INTERVAL))):
            held = try_open_locked(at.folder / "lock")
            if held is not None:
                break
            await at.sleep(LOCK_INTERVAL)
    except OSError as error:
        raise ConfigurationError(
            f"{at.folder} cannot be used to keep webhook secrets: {error.strerror}",
            remedy="give yourself the right to write there",
        ) from None
    try:
        yield held is not None
    finally:
        if held is not None:
            held.close()


async def create(at: Subscriber, *, beside: bool = False) -> OwnWebhook | None:
    """Create a webhook; None when another place was quicker, unless it is to be `beside` others.

    The create is sent once. Raises ServiceError: when its outcome is not known, the next inventory
    finds what it left, which is deleted, because nobody has its secret.
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
        await delete(at, OwnWebhook(webhook=webhook, entry=planned))
        raise ShapeError(
            "create webhook: the service showed no secret, so nothing of it can be verified",
            operation=CREATE_WEBHOOK.name,
            remedy="make one in the service's own pages, and set CALLSHEET_WEBHOOK_SECRET",
        )
    keep_webhook_secret(at.folder, replace(held, secret=webhook.secret))
    await at.ledger.write(partial(name_subscription, nonce=nonce, webhook_id=webhook.id))
    return OwnWebhook(webhook=webhook, entry=replace(planned, webhook_id=webhook.id))


async def delete(at: Subscriber, own: OwnWebhook) -> None:
    """Delete a webhook at the service, then retire its secret; raise ServiceError."""
    with contextlib.suppress(NotFound):
        await at.service.delete_webhook(own.webhook.id)
    await retire(at, own.entry.nonce)


async def retire(at: Subscriber, nonce: str) -> None:
    """Record that a webhook is used no more; its secret is taken for a while longer."""
    await at.ledger.write(partial(retire_subscription, nonce=nonce, at=at.clock()))
    kept = read_webhook_secret(at.folder, nonce)
    if kept is not None and not kept.secret:
        drop_webhook_secret(at.folder, nonce)
    retire_webhook_secret(at.folder, nonce, at=at.clock())


async def repair(at: Subscriber, found: WebhookInventory) -> None:
    """Bring service, ledger and secrets to what an inventory has found; raise ServiceError."""
    for own in found.useless:
        await delete(at, own)
    for nonce in sorted(found.gone):
        await retire(at, nonce)
    for own in found.here:
        await _record(at, own)
    for secret in read_webhook_secrets(at.folder):
        if secret.retired_at is not None and not secret.lives(at.clock()):
            drop_webhook_secret(at.folder, secret.nonce)


async def _record(at: Subscriber, own: OwnWebhook) -> None:
    """Enter a webhook into the ledger that a lost ledger, or a crash, has left without its id."""
    nonce, webhook_id = own.entry.nonce, own.webhook.id
    if not own.recorded:
        await at.ledger.write(partial(plan_subscription, planned=own.entry))
        kept = read_webhook_secret(at.folder, nonce)
        if kept is not None and kept.organisation != at.organisation:
            # The key was replaced since: it is the same organisation under another fingerprint.
            keep_webhook_secret(at.folder, replace(kept, organisation=at.organisation))
    elif own.entry.webhook_id != webhook_id:
        await at.ledger.write(partial(name_subscription, nonce=nonce, webhook_id=webhook_id))


def _plan(connection: Connection, planned: Subscription, *, beside: bool) -> bool:
    """Commit the plan; return False, and plan nothing, while another place has a webhook."""
    known = all_subscriptions(connection, planned.organisation)
    if not beside and any(one.retired_at is None and one.place != planned.place for one in known):
        return False
    plan_subscription(connection, planned)
    return True
