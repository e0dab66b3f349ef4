"""Which webhooks at the service are ours, and what is to become of each.

Three books are laid side by side: the service's list, the ledger's, and the secrets kept here.
Decides and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from tasks.credentials import WebhookSecret, read_webhook_secrets
from tasks.errors import NotFound
from tasks.ledger import Subscription, known_subscriptions
from tasks.service import Webhook
from tasks.webhooks.address import is_same, is_under, last_part, looks_random
from tasks.webhooks.status import Subscriber

#: The one event kind that the specification names (section 6).
READY = "video.ready"
#: A create elsewhere that has not got its id after so many seconds was cut off.
MAKING = 600.0


@dataclass(frozen=True, kw_only=True)
class Ours:
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
class Survey:
    """What is to become of everything that was found.

    here:      to be used; its secret is kept here. The newest comes first, as in `elsewhere`.
    elsewhere: to be used; its secret is kept in another place.
    doomed:    to be deleted at the service: its secret is lost, or it was replaced.
    gone:      nonces of webhooks that the service does not have (any more).
    moved:     as doomed, but its address is not ours any more: it is left to whoever changed it.
    making:    a webhook that another place is about to make.
    """

    here: list[Ours] = field(default_factory=list)
    elsewhere: list[Ours] = field(default_factory=list)
    doomed: list[Ours] = field(default_factory=list)
    moved: list[Ours] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    making: Subscription | None = None


async def look(at: Subscriber) -> Survey:
    """Read the three books and compare them.

    Raises ServiceError, and ConfigurationError when a secret's file cannot be used.
    """
    kept = {secret.nonce: secret for secret in read_webhook_secrets(at.folder)}
    listed = await at.service.list_webhooks()
    nonces = [last_part(webhook.url) for webhook in listed]
    known = await at.ledger.read(
        partial(known_subscriptions, organisation=at.organisation, nonces=nonces)
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
    return survey(at, listed, known=known, kept=kept)


def survey(
    at: Subscriber,
    listed: Sequence[Webhook],
    *,
    known: Sequence[Subscription],
    kept: Mapping[str, WebhookSecret],
) -> Survey:
    """Compare the service's list with what is `known` to the ledger and the secrets `kept` here."""
    found = Survey()
    matched: set[str] = set()
    for webhook in listed:
        ours = _ours(at, webhook, known, kept)
        if ours is not None:
            matched.add(ours.entry.nonce)
            _fate(at, ours, kept, found).append(ours)
    found.gone.update(ours.entry.nonce for ours in found.moved)
    for group in (found.here, found.elsewhere):
        group.sort(key=lambda ours: -ours.entry.made_at)
    for entry in known:
        if entry.nonce in matched or entry.retired_at or entry.organisation != at.organisation:
            continue
        fresh = entry.webhook_id is None and entry.made_at > at.clock() - MAKING
        if fresh and not _is_here(at, entry, kept):
            found.making = entry
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


def _ours(
    at: Subscriber,
    webhook: Webhook,
    known: Sequence[Subscription],
    kept: Mapping[str, WebhookSecret],
) -> Ours | None:
    nonce = last_part(webhook.url)
    for entry in known:
        named = entry.webhook_id == webhook.id
        if named or (entry.nonce == nonce and is_same(webhook.url or "", entry.url)):
            return Ours(webhook=webhook, entry=entry)
    if webhook.url is None or not is_under(at.prefix, webhook.url):
        return None
    secret = kept.get(nonce)
    # What somebody made by hand under our address is not ours: see what its name looks like.
    if secret is None and not (looks_random(nonce) and webhook.events == (READY,)):
        return None
    entry = Subscription(
        nonce=nonce,
        organisation=at.organisation,
        url=webhook.url,
        place=at.place,
        webhook_id=webhook.id,
        made_at=secret.made_at if secret else at.clock(),
    )
    return Ours(webhook=webhook, entry=entry, recorded=False)


def _fate(
    at: Subscriber, ours: Ours, kept: Mapping[str, WebhookSecret], found: Survey
) -> list[Ours]:
    entry, secret = ours.entry, kept.get(ours.entry.nonce)
    doomed = found.moved if ours.has_moved else found.doomed
    if entry.retired_at is not None:
        return doomed
    if not _is_here(at, entry, kept):
        return found.elsewhere
    usable = secret is not None and bool(secret.secret) and secret.retired_at is None
    # After CALLSHEET_WEBHOOK_URL was changed, the old address leads nowhere.
    return found.here if usable and is_under(at.prefix, entry.url) else doomed


def _is_here(at: Subscriber, entry: Subscription, kept: Mapping[str, WebhookSecret]) -> bool:
    # A host may change its name (a container does at every start): the file is what counts.
    return entry.place == at.place or entry.nonce in kept
