"""Callsheet's webhooks at the service.

Which exist, created and deleted in an order that survives a crash.

The service's list, the ledger's and the secrets kept here are compared. Changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import Connection

from callsheet.tasks.credentials import (
    WebhookSecret,
    drop_webhook_secret,
    keep_webhook_secret,
    read_webhook_secret,
    read_webhook_secrets,
    retire_webhook_secret,
)
from callsheet.tasks.credentials.secret_files import make_private_folder
from callsheet.tasks.engine.context import organisation_of
from callsheet.tasks.engine.owner import this_process
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.webhook_events import (
    Subscription,
    all_subscriptions,
    name_subscription,
    plan_subscription,
    retire_subscription,
)
from callsheet.tasks.runtime.errors import (
    ConfigurationError,
    NotFound,
    NotSent,
    RateLimited,
    Refused,
    ShapeError,
)
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.service import VideoService, Webhook
from callsheet.tasks.service import operations as ops
from callsheet.tasks.store.disk import try_open_locked

#: The one event kind that the specification names (section 6).
READY = "video.ready"
#: A create elsewhere that has not got its id after so many seconds was cut off.
CREATE_TIMEOUT = 600.0
#: What `secrets.token_urlsafe` makes, and hardly anybody chooses as the last part of an address.
_RANDOM = re.compile(r"(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_-]{20,40}")


@dataclass(frozen=True, kw_only=True)
class OwnWebhook:
    """A webhook at the service, and its entry in the ledger; `recorded` says whether it has one.

    `is_here` says whether its secret has its place in our folder, also where that is lost.
    """

    webhook: Webhook
    entry: Subscription
    recorded: bool = True
    is_here: bool = True

    @property
    def has_moved(self) -> bool:
        """Whether the service shows another address than ours: someone has changed it.

        Or it shows none as it is. Such a one may be used when it is received, and is never deleted.
        """
        return self.webhook.url is not None and not is_same(self.webhook.url, self.entry.url)


@dataclass(kw_only=True)
class WebhookInventory:
    """Everything that was found, by what is to become of it.

    usable:  the ledger's webhook; two after a rotation that was cut off. Those whose secret is here
             come first, the newest of them before others.
    useless: to be given up: its secret is lost, or it was replaced.
    gone:    nonces of webhooks that the service does not have (any more).
    """

    usable: list[OwnWebhook] = field(default_factory=list)
    useless: list[OwnWebhook] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)

    @property
    def here(self) -> list[OwnWebhook]:
        """The usable ones whose secret is here."""
        return [own for own in self.usable if own.is_here]


async def take_inventory(at: Subscriber) -> WebhookInventory:
    """Read the three lists and compare them.

    Raises ServiceError, and ConfigurationError when a secret's file cannot be used.
    """
    kept = {secret.nonce: secret for secret in read_webhook_secrets(at.folder)}
    listed = await at.service.ask(ops.LIST_WEBHOOKS)
    nonces = [_last_part(webhook.url) for webhook in listed]
    known = await at.ledger.read(all_subscriptions, organisation=at.organisation, nonces=nonces)
    shown = {webhook.id for webhook in listed}
    for entry in known:
        if _is_ours_now(at, entry) and entry.webhook_id and entry.webhook_id not in shown:
            # How long the list may be is not shown: what is not on it is asked for by its id.
            with contextlib.suppress(NotFound):
                listed.append(await at.service.ask(ops.GET_WEBHOOK, entry.webhook_id))
    return compare(at, listed, known=known, kept=kept)


def compare(
    at: Subscriber,
    listed: Sequence[Webhook],
    *,
    known: Sequence[Subscription],
    kept: Mapping[str, WebhookSecret],
) -> WebhookInventory:
    """Compare the service's list with what is `known` to the ledger and the secrets `kept` here."""
    own = [one for webhook in listed if (one := _own(at, webhook, known, kept))]
    found = WebhookInventory()
    for one in own:
        usable = _is_usable(at, one, kept.get(one.entry.nonce))
        (found.usable if usable else found.useless).append(one)
    found.usable.sort(key=lambda one: (not one.is_here, -one.entry.made_at))
    lately = at.clock() - CREATE_TIMEOUT
    for entry in known:
        # Another host may be about to make it.
        fresh = entry.webhook_id is None and entry.made_at > lately
        if _is_ours_now(at, entry) and not (fresh and not _is_here(at, entry, kept)):
            found.gone.add(entry.nonce)
    found.gone |= {secret.nonce for secret in kept.values() if _is_ours_now(at, secret)}
    found.gone -= {one.entry.nonce for one in own}
    return found


def _is_ours_now(at: Subscriber, one: Subscription | WebhookSecret) -> bool:
    return one.organisation == at.organisation and one.retired_at is None


def is_under(prefix: str, url: str | None) -> bool:
    """Whether an address is the prefix and one part more."""
    part = _last_part(url)
    return url is not None and bool(part) and is_same(url, prefix + part)


def is_same(one: str, other: str) -> bool:
    """Whether two addresses are one, however the service writes it."""
    try:
        return _parts(one) == _parts(other)
    except ValueError:
        return False


def _own(
    at: Subscriber,
    webhook: Webhook,
    known: Sequence[Subscription],
    kept: Mapping[str, WebhookSecret],
) -> OwnWebhook | None:
    nonce = _last_part(webhook.url)
    for entry in known:
        named = entry.webhook_id == webhook.id
        if named or (entry.nonce == nonce and is_same(webhook.url or "", entry.url)):
            return OwnWebhook(webhook=webhook, entry=entry, is_here=_is_here(at, entry, kept))
    if webhook.url is None or not is_under(at.prefix, webhook.url):
        return None
    secret = kept.get(nonce)
    # What someone made by hand under our address is not ours: see what its name looks like.
    if secret is None and not (_RANDOM.fullmatch(nonce) and webhook.events == (READY,)):
        return None
    made_at = secret.made_at if secret else at.clock()
    entry = replace(at.planned(nonce, made_at=made_at), url=webhook.url, webhook_id=webhook.id)
    return OwnWebhook(webhook=webhook, entry=entry, recorded=False)


def _is_usable(at: Subscriber, own: OwnWebhook, secret: WebhookSecret | None) -> bool:
    if own.entry.retired_at is not None or not own.is_here:
        return own.entry.retired_at is None
    # After CALLSHEET_WEBHOOK_URL was changed, the old address leads nowhere.
    is_kept = secret is not None and bool(secret.secret) and secret.retired_at is None
    return is_kept and is_under(at.prefix, own.entry.url)


def _is_here(at: Subscriber, entry: Subscription, kept: Mapping[str, WebhookSecret]) -> bool:
    # A host may change its name (a container does at every start): the file is what counts.
    return entry.place == at.place or entry.nonce in kept


def _last_part(url: str | None) -> str:
    return (url or "").rstrip("/").rpartition("/")[2]


def _parts(url: str) -> tuple[object, ...]:
    found = urlsplit(url.rstrip("/"))
    port = found.port or {"http": 80, "https": 443}.get(found.scheme)
    return found.scheme, found.hostname, port, found.path, found.query


# Creates, repairs and deletes a webhook of ours, each in an order no crash can turn into a loss.
#
# Before a create is sent, the secret has its place on the disk and the ledger knows of it; after
# it, the secret is saved before anything else. What is left half done is found by the next
# inventory.


#: Seconds between two tries to have the folder of secrets.
LOCK_INTERVAL = 0.1


@asynccontextmanager
async def folder_lock(at: Subscriber, *, timeout: float) -> AsyncIterator[bool]:
    """Hold the folder of secrets for us alone, or yield False when someone else has it too long.

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
    """Create the ledger's webhook; None when it has one, unless it is to be `beside` that.

    The create is sent once. Raises ServiceError: when its outcome is not known, the next inventory
    finds what it left, which is deleted, because no one has its secret.
    """
    nonce, now = at.nonce(), at.clock()
    held = WebhookSecret(nonce=nonce, organisation=at.organisation, secret="", made_at=now)
    keep_webhook_secret(at.folder, held)
    planned = at.planned(nonce, made_at=now)
    if not await at.ledger.write(_plan, planned=planned, beside=beside):
        drop_webhook_secret(at.folder, nonce)
        return None
    try:
        webhook = await at.service.ask(
            ops.CREATE_WEBHOOK, body={"url": planned.url, "events": [READY]}
        )
    except (NotSent, RateLimited, Refused):
        await retire(at, nonce)
        raise
    if webhook.secret is None:
        await delete(at, OwnWebhook(webhook=webhook, entry=planned))
        raise ShapeError(
            "create webhook: the service showed no secret, so nothing of it can be verified",
            operation=ops.CREATE_WEBHOOK.name,
            remedy="make one in the service's own pages, and set CALLSHEET_WEBHOOK_SECRET",
        )
    keep_webhook_secret(at.folder, replace(held, secret=webhook.secret))
    await at.ledger.write(name_subscription, nonce=nonce, webhook_id=webhook.id)
    return OwnWebhook(webhook=webhook, entry=replace(planned, webhook_id=webhook.id))


async def delete(at: Subscriber, own: OwnWebhook) -> None:
    """Delete a webhook at the service, then retire its secret; raise ServiceError.

    One whose address was changed is left as it is there.
    """
    if not own.has_moved:
        with contextlib.suppress(NotFound):
            await at.service.ask(ops.DELETE_WEBHOOK, own.webhook.id)
    await retire(at, own.entry.nonce)


async def retire(at: Subscriber, nonce: str) -> None:
    """Record that a webhook is used no more; its secret is taken for a while longer."""
    await at.ledger.write(retire_subscription, nonce=nonce, at=at.clock())
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
        await at.ledger.write(plan_subscription, planned=own.entry)
        kept = read_webhook_secret(at.folder, nonce)
        if kept is not None and kept.organisation != at.organisation:
            # The key was replaced since: it is the same organisation under another fingerprint.
            keep_webhook_secret(at.folder, replace(kept, organisation=at.organisation))
    elif own.entry.webhook_id != webhook_id:
        await at.ledger.write(name_subscription, nonce=nonce, webhook_id=webhook_id)


def _plan(connection: Connection, planned: Subscription, *, beside: bool) -> bool:
    """Commit the plan; return False, and plan nothing, while the ledger has a webhook."""
    known = all_subscriptions(connection, planned.organisation)
    if not beside and any(one.retired_at is None for one in known):
        return False
    plan_subscription(connection, planned)
    return True


# Who subscribes, and the status of the subscription. Values alone: asks nothing.


def new_nonce() -> str:
    """Return what no one can guess and a path can hold; the ledger has room for 40 characters."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, kw_only=True)
class Subscriber:
    """What a subscription is made with; `nonce` returns a new last part of an address."""

    settings: Settings
    ledger: Ledger
    service: VideoService
    clock: UnixClock = field(default=time.time)
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep)
    nonce: Callable[[], str] = field(default=new_nonce)

    @property
    def folder(self) -> Path:
        """Where the secrets are kept."""
        return self.settings.webhook_secrets

    @property
    def place(self) -> str:
        """The same for the ledger, which processes on other hosts may share."""
        host = this_process().partition(":")[0]
        return f"{host}:{self.folder.resolve()}"

    @property
    def organisation(self) -> str:
        return organisation_of(self.settings)

    @property
    def prefix(self) -> str:
        """What the addresses of our webhooks begin with."""
        return f"{self.settings.webhook_url}/"

    def planned(self, nonce: str, *, made_at: float) -> Subscription:
        """Return the ledger's entry of a webhook that is made here."""
        return Subscription(
            nonce=nonce,
            organisation=self.organisation,
            url=self.prefix + nonce,
            place=self.place,
            made_at=made_at,
        )


@dataclass(frozen=True, kw_only=True)
class SubscriptionStatus:
    """The subscription as it was just found.

    made:    it was created just now.
    enabled: it had been disabled and is active again: anyone who waits for hints must sweep.
    heard:   a ping that was asked for now came into the inbox, signed by this subscription.
    missed:  ids of events that the service has tried to deliver lately and the inbox lacks.
    trouble: why hints cannot be relied on now, in a sentence; None when all is well.
    """

    nonce: str | None = None
    webhook_id: str | None = None
    url: str | None = None
    made: bool = False
    enabled: bool = False
    heard: bool = False
    missed: tuple[str, ...] = ()
    trouble: str | None = None
