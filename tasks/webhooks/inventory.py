"""Which webhooks at the service are ours, and what is to become of each.

The service's list, the ledger's and the secrets kept here are compared. Changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

from callsheet.tasks.credentials import WebhookSecret, read_webhook_secrets
from callsheet.tasks.errors import NotFound
from callsheet.tasks.ledger import Subscription, all_subscriptions
from callsheet.tasks.service import Webhook
from callsheet.tasks.webhooks.subscriber import Subscriber

#: The one event kind that the specification names (section 6).
READY = "video.ready"
#: A create elsewhere that has not got its id after so many seconds was cut off.
CREATE_TIMEOUT = 600.0
#: What `secrets.token_urlsafe` makes, and hardly anybody chooses as the last part of an address.
_RANDOM = re.compile(r"(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_-]{20,40}")


@dataclass(frozen=True, kw_only=True)
class OwnWebhook:
    """A webhook at the service, and its entry in the ledger; `recorded` says whether it has one."""

    webhook: Webhook
    entry: Subscription
    recorded: bool = True

    @property
    def has_moved(self) -> bool:
        """Whether the service shows another address than ours: somebody has changed it.

        Or it shows none as it is. Such a one may be used when it is heard, and is never deleted.
        """
        return self.webhook.url is not None and not is_same(self.webhook.url, self.entry.url)


@dataclass(kw_only=True)
class WebhookInventory:
    """Everything that was found, by what is to become of it.

    here:      to be used; its secret is kept here. The newest comes first, as in `elsewhere`.
    elsewhere: to be used; its secret is kept in another place.
    useless:   to be deleted at the service: its secret is lost, or it was replaced.
    moved:     as useless, but its address is not ours any more: it is left to whoever changed it.
    gone:      nonces of webhooks that the service does not have (any more).
    pending:   a webhook that another place is about to create.
    """

    here: list[OwnWebhook] = field(default_factory=list)
    elsewhere: list[OwnWebhook] = field(default_factory=list)
    useless: list[OwnWebhook] = field(default_factory=list)
    moved: list[OwnWebhook] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    pending: Subscription | None = None


async def take_inventory(at: Subscriber) -> WebhookInventory:
    """Read the three lists and compare them.

    Raises ServiceError, and ConfigurationError when a secret's file cannot be used.
    """
    kept = {secret.nonce: secret for secret in read_webhook_secrets(at.folder)}
    listed = await at.service.list_webhooks()
    nonces = [_last_part(webhook.url) for webhook in listed]
    known = await at.ledger.read(
        partial(all_subscriptions, organisation=at.organisation, nonces=nonces)
    )
    shown = {webhook.id for webhook in listed}
    for entry in known:
        wanted = entry.retired_at is None and entry.organisation == at.organisation
        if wanted and entry.webhook_id and entry.webhook_id not in shown:
            # How long the list may be is not shown: what is not on it is asked for by its id.
            try:
                listed.append(await at.service.get_webhook(entry.webhook_id))
            except NotFound:
                continue
    return compare(at, listed, known=known, kept=kept)


def compare(
    at: Subscriber,
    listed: Sequence[Webhook],
    *,
    known: Sequence[Subscription],
    kept: Mapping[str, WebhookSecret],
) -> WebhookInventory:
    """Compare the service's list with what is `known` to the ledger and the secrets `kept` here."""
    found = WebhookInventory()
    matched: set[str] = set()
    for webhook in listed:
        own = _own(at, webhook, known, kept)
        if own is not None:
            matched.add(own.entry.nonce)
            _group_of(at, own, kept, found).append(own)
    found.gone.update(own.entry.nonce for own in found.moved)
    for group in (found.here, found.elsewhere):
        group.sort(key=lambda own: -own.entry.made_at)
    for entry in known:
        if entry.nonce in matched or entry.retired_at or entry.organisation != at.organisation:
            continue
        fresh = entry.webhook_id is None and entry.made_at > at.clock() - CREATE_TIMEOUT
        if fresh and not _is_here(at, entry, kept):
            found.pending = entry
        else:
            found.gone.add(entry.nonce)
    found.gone.update(
        secret.nonce
        for secret in kept.values()
        if secret.organisation == at.organisation
        and secret.retired_at is None
        and secret.nonce not in matched
    )
    return found


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
            return OwnWebhook(webhook=webhook, entry=entry)
    if webhook.url is None or not is_under(at.prefix, webhook.url):
        return None
    secret = kept.get(nonce)
    # What somebody made by hand under our address is not ours: see what its name looks like.
    if secret is None and not (_RANDOM.fullmatch(nonce) and webhook.events == (READY,)):
        return None
    entry = Subscription(
        nonce=nonce,
        organisation=at.organisation,
        url=webhook.url,
        place=at.place,
        webhook_id=webhook.id,
        made_at=secret.made_at if secret else at.clock(),
    )
    return OwnWebhook(webhook=webhook, entry=entry, recorded=False)


def _group_of(
    at: Subscriber,
    own: OwnWebhook,
    kept: Mapping[str, WebhookSecret],
    found: WebhookInventory,
) -> list[OwnWebhook]:
    entry, secret = own.entry, kept.get(own.entry.nonce)
    useless = found.moved if own.has_moved else found.useless
    if entry.retired_at is not None:
        return useless
    if not _is_here(at, entry, kept):
        return found.elsewhere
    usable = secret is not None and bool(secret.secret) and secret.retired_at is None
    # After CALLSHEET_WEBHOOK_URL was changed, the old address leads nowhere.
    return found.here if usable and is_under(at.prefix, entry.url) else useless


def _is_here(at: Subscriber, entry: Subscription, kept: Mapping[str, WebhookSecret]) -> bool:
    # A host may change its name (a container does at every start): the file is what counts.
    return entry.place == at.place or entry.nonce in kept


def _last_part(url: str | None) -> str:
    return (url or "").rstrip("/").rpartition("/")[2]


def _parts(url: str) -> tuple[object, ...]:
    found = urlsplit(url.rstrip("/"))
    port = found.port or {"http": 80, "https": 443}.get(found.scheme)
    return found.scheme, found.hostname, port, found.path, found.query
