"""The webhooks that were made for this ledger, so that every process knows of them.

Their secrets are kept beside the receiver, never here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, or_, select, update

from callsheet.tasks.ledger.schema import subscriptions


@dataclass(frozen=True, kw_only=True)
class Subscription:
    """A webhook of ours: `url` ends in `nonce`, `place` says where its secret is kept.

    Without a `webhook_id` it is not known whether the service made it. Moments are Unix seconds.
    """

    nonce: str
    organisation: str
    url: str
    place: str
    webhook_id: str | None = None
    made_at: float = 0.0
    retired_at: float | None = None


def plan_subscription(connection: Connection, planned: Subscription) -> None:
    """Record a webhook that is about to be made."""
    connection.execute(subscriptions.insert().values(**vars(planned)))


def name_subscription(connection: Connection, nonce: str, *, webhook_id: str) -> None:
    """Record the id that the service gave it."""
    this = subscriptions.c.nonce == nonce
    connection.execute(update(subscriptions).where(this).values(webhook_id=webhook_id))


def retire_subscription(connection: Connection, nonce: str, *, at: float) -> bool:
    """Record that it is used no more; return False if that was so already."""
    this = (subscriptions.c.nonce == nonce) & subscriptions.c.retired_at.is_(None)
    return connection.execute(update(subscriptions).where(this).values(retired_at=at)).rowcount > 0


def all_subscriptions(
    connection: Connection, organisation: str, nonces: Collection[str] = ()
) -> list[Subscription]:
    """Return every webhook of an organisation that was made for this ledger, newest first.

    With those of `nonces`, whoever made them: a new key gives an organisation another
    fingerprint, and its webhooks stay where they are.
    """
    this = or_(subscriptions.c.organisation == organisation, subscriptions.c.nonce.in_(nonces))
    order = (subscriptions.c.made_at.desc(), subscriptions.c.nonce)
    query = select(subscriptions).where(this).order_by(*order)
    return [Subscription(**found._mapping) for found in connection.execute(query)]
