"""Callsheet's webhooks at the service: found, made and deleted in an order that survives crashes.

A webhook is ours if its secret is in a file here, next to its address and id. The service's list is
compared with these files; one of another machine is used where it is received, and left alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from callsheet.tasks.credentials import (
    WebhookSecret,
    drop_webhook_secret,
    keep_webhook_secret,
    read_webhook_secrets,
)
from callsheet.tasks.credentials.secret_files import make_private_folder
from callsheet.tasks.engine.context import organisation_of
from callsheet.tasks.ledger.ledger import Ledger
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
#: What `secrets.token_urlsafe` makes, and hardly anybody chooses as the last part of an address.
_RANDOM = re.compile(r"(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_-]{20,40}")


@dataclass(frozen=True, kw_only=True)
class OwnWebhook:
    """A webhook at the service, and what signs it: an empty text where another machine has it."""

    webhook: Webhook
    secret: WebhookSecret

    @property
    def has_moved(self) -> bool:
        """Whether the service shows another address than ours: someone has changed it.

        Or it shows none as it is. Such a one may be used when it is received, and is never deleted.
        """
        return self.webhook.url is not None and not is_same(self.webhook.url, self.secret.url)


@dataclass(kw_only=True)
class WebhookInventory:
    """Everything that was found, by what is to become of it.

    here:      ours, the newest first; two after a rotation that was cut off.
    elsewhere: made like ours, and their secrets are not here.
    useless:   ours to be given up: replaced, cut off before its secret came, or at an old address.
    gone:      the secrets of webhooks that the service does not have (any more).
    """

    here: list[OwnWebhook] = field(default_factory=list)
    elsewhere: list[OwnWebhook] = field(default_factory=list)
    useless: list[OwnWebhook] = field(default_factory=list)
    gone: list[WebhookSecret] = field(default_factory=list)

    @property
    def usable(self) -> list[OwnWebhook]:
        """Those through which hints may come, ours first."""
        return [*self.here, *self.elsewhere]


async def take_inventory(at: Subscriber) -> WebhookInventory:
    """Compare the service's list with the secrets here.

    Raises ServiceError, and ConfigurationError when a secret's file cannot be used.
    """
    kept = read_webhook_secrets(at.folder)
    listed = await at.service.ask(ops.LIST_WEBHOOKS)
    shown = {webhook.id for webhook in listed}
    for one in kept:
        if _is_ours_now(at, one) and one.webhook_id and one.webhook_id not in shown:
            # How long the list may be is not shown: what is not on it is asked for by its id.
            with contextlib.suppress(NotFound):
                listed.append(await at.service.ask(ops.GET_WEBHOOK, one.webhook_id))
    return compare(at, listed, kept)


def compare(
    at: Subscriber, listed: Sequence[Webhook], kept: Sequence[WebhookSecret]
) -> WebhookInventory:
    """Compare the service's list with the secrets `kept` here, newest first."""
    found, known = WebhookInventory(), set[str]()
    for webhook in listed:
        secret = _secret_of(webhook, kept)
        if secret is not None:
            known.add(secret.nonce)
            group = found.here if _is_usable(at, secret) else found.useless
            group.append(OwnWebhook(webhook=webhook, secret=secret))
        elif (other := _made_elsewhere(at, webhook)) is not None:
            found.elsewhere.append(OwnWebhook(webhook=webhook, secret=other))
    found.here.sort(key=lambda own: -own.secret.made_at)
    found.gone = [one for one in kept if _is_ours_now(at, one) and one.nonce not in known]
    return found


def _is_ours_now(at: Subscriber, one: WebhookSecret) -> bool:
    return one.organisation == at.organisation and one.retired_at is None


def _secret_of(webhook: Webhook, kept: Sequence[WebhookSecret]) -> WebhookSecret | None:
    for one in kept:
        if one.webhook_id == webhook.id or is_same(webhook.url or "", one.url):
            return one
    return None


def _is_usable(at: Subscriber, one: WebhookSecret) -> bool:
    # After CALLSHEET_WEBHOOK_URL was changed, the old address leads nowhere.
    return bool(one.secret) and one.retired_at is None and is_under(at.prefix, one.url)


def _made_elsewhere(at: Subscriber, webhook: Webhook) -> WebhookSecret | None:
    """Return what stands for the secret of a webhook that was made like ours."""
    nonce, url = _last_part(webhook.url), webhook.url or ""
    # What someone made by hand under our address is not ours: see what its name looks like.
    is_like_ours = _RANDOM.fullmatch(nonce) and webhook.events == (READY,)
    if not (is_like_ours and is_under(at.prefix, url)):
        return None
    return WebhookSecret(nonce=nonce, organisation=at.organisation, url=url, made_at=at.clock())


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


def _last_part(url: str | None) -> str:
    return (url or "").rstrip("/").rpartition("/")[2]


def _parts(url: str) -> tuple[object, ...]:
    found = urlsplit(url.rstrip("/"))
    port = found.port or {"http": 80, "https": 443}.get(found.scheme)
    return found.scheme, found.hostname, port, found.path, found.query


# Creates, repairs and deletes a webhook of ours, each in an order no crash can turn into a loss.
#
# Before a create is sent, its secret has a place on the disk; after it, the secret is saved before
# anything else. What is left half done is found by the next inventory.


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


async def create(at: Subscriber) -> OwnWebhook:
    """Create a webhook; the create is sent once.

    Raises ServiceError: when its outcome is not known, the next inventory finds what it left, which
    is deleted, because no one has its secret.
    """
    nonce = at.nonce()
    held = WebhookSecret(
        nonce=nonce, organisation=at.organisation, url=at.prefix + nonce, made_at=at.clock()
    )
    keep_webhook_secret(at.folder, held)
    body = {"url": held.url, "events": [READY]}
    try:
        webhook = await at.service.ask(ops.CREATE_WEBHOOK, body=body)
    except (NotSent, RateLimited, Refused):
        drop_webhook_secret(at.folder, nonce)
        raise
    if webhook.secret is None:
        await delete(at, OwnWebhook(webhook=webhook, secret=held))
        raise ShapeError(
            "create webhook: the service showed no secret, so nothing of it can be verified",
            operation=ops.CREATE_WEBHOOK.name,
            remedy="make one in the service's own pages, and set CALLSHEET_WEBHOOK_SECRET",
        )
    known = replace(held, secret=webhook.secret, webhook_id=webhook.id)
    keep_webhook_secret(at.folder, known)
    return OwnWebhook(webhook=webhook, secret=known)


async def delete(at: Subscriber, own: OwnWebhook) -> None:
    """Delete a webhook of ours at the service, then retire its secret; raise ServiceError.

    One whose address was changed is left as it is there.
    """
    if not own.has_moved:
        with contextlib.suppress(NotFound):
            await at.service.ask(ops.DELETE_WEBHOOK, own.webhook.id)
    _retire(at, own.secret)


async def repair(at: Subscriber, found: WebhookInventory) -> None:
    """Bring service and secrets to what an inventory has found; raise ServiceError."""
    for own in found.useless:
        await delete(at, own)
    for secret in found.gone:
        _retire(at, secret)
    for own in found.here:
        if own.secret.organisation != at.organisation:
            # The key was replaced since: it is the same organisation under another fingerprint.
            keep_webhook_secret(at.folder, replace(own.secret, organisation=at.organisation))
    for secret in read_webhook_secrets(at.folder):
        if secret.retired_at is not None and not secret.lives(at.clock()):
            drop_webhook_secret(at.folder, secret.nonce)


def _retire(at: Subscriber, secret: WebhookSecret) -> None:
    """Use a secret no more; what it has signed is taken for a while longer."""
    if not secret.secret:
        drop_webhook_secret(at.folder, secret.nonce)
    elif secret.retired_at is None:
        keep_webhook_secret(at.folder, replace(secret, retired_at=at.clock()))


# Who subscribes, and the status of the subscription. Values alone: asks nothing.


def new_nonce() -> str:
    """Return what no one can guess and a path can hold; the inbox has room for 40 characters."""
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
    def organisation(self) -> str:
        return organisation_of(self.settings)

    @property
    def prefix(self) -> str:
        """What the addresses of our webhooks begin with."""
        return f"{self.settings.webhook_url}/"


@dataclass(frozen=True, kw_only=True)
class SubscriptionStatus:
    """The subscription as it was just found.

    made:    it was created just now.
    enabled: it had been disabled and is active again: anyone who waits for hints must sweep.
    heard:   a ping that was asked for now came into the inbox, signed by this subscription.
    trouble: why hints cannot be relied on now, in a sentence; None when all is well.
    """

    nonce: str | None = None
    webhook_id: str | None = None
    url: str | None = None
    made: bool = False
    enabled: bool = False
    heard: bool = False
    trouble: str | None = None
