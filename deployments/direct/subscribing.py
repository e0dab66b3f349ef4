"""The verbs of `callsheet webhooks` for the subscription that runs learn of films by.

`ensure` and `rotate` do what `tasks.webhooks` does for a run; `status` looks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from deployments.direct.session import Document, Session
from deployments.direct.subscription_status import status_of
from deployments.receiver.endpoint import name_of, split_address, who_is_there
from deployments.terminal import plain
from tasks.errors import ConfigurationError
from tasks.redact import redact
from tasks.webhooks import (
    Subscriber,
    SubscriptionStatus,
    ensure_subscription,
    rotate_subscription,
)


async def ensure(at: Session) -> Document:
    """Make or mend our subscription, and have it proved by a ping."""
    return await _tell(at, ensure_subscription)


async def rotate(at: Session) -> Document:
    """Replace our subscription by one with a new secret, without losing a delivery."""
    return await _tell(at, rotate_subscription)


async def status(at: Session) -> Document:
    """Show every subscription of ours, and what needs a person."""
    return await status_of(_subscriber(at), at.console, receiver=await _receiver(at))


async def _tell(
    at: Session, verb: Callable[[Subscriber], Awaitable[SubscriptionStatus]]
) -> Document:
    status_ = await verb(_subscriber(at))
    if status_.webhook_id is not None:
        where = plain(redact(status_.url or "-"))
        at.console.print(f"[bold]{plain(status_.webhook_id)}[/] {where}: {_words(status_)}")
    if status_.missed:
        at.console.print(
            f"{len(status_.missed)} events were not heard; a run finds their films by looking"
        )
    document: Document = {**vars(status_), "missed": list(status_.missed), "exit": 0}
    document["url"] = None if status_.url is None else redact(status_.url)
    if status_.trouble is not None:
        told = [status_.trouble, *([] if status_.heard else await _receiver(at))]
        for line in told:
            at.console.print(plain(redact(line)))
        document |= {"trouble": redact("; ".join(told)), "exit": 3}
    return document


def _words(status_: SubscriptionStatus) -> str:
    said = [word for word in ("made", "enabled") if getattr(status_, word)]
    return ", ".join([*said, "a ping was heard" if status_.heard else "no ping was heard"])


def _subscriber(at: Session) -> Subscriber:
    settings = at.settings
    if not settings.webhook_url and not settings.webhook_secret:
        raise ConfigurationError(
            "CALLSHEET_WEBHOOK_URL is not set, so the service cannot be told where to send hints",
            remedy="set it to the public https address that leads to `callsheet receive`",
        )
    assert at.ledger is not None, "a verb that subscribes has a ledger"
    return Subscriber(settings=settings, ledger=at.ledger, service=at.service)


async def _receiver(at: Session) -> list[str]:
    """Return what is wrong with the receiver of this machine; it may well be on another one."""
    address = at.settings.receiver
    there = await asyncio.to_thread(who_is_there, *split_address(address))
    assert at.ledger is not None, "a verb that subscribes has a ledger"
    if there is None:
        return [f"no receiver answers at {address}: start one with `callsheet receive`"]
    if there != name_of(at.ledger.address):
        return [f"the receiver at {address} hears for another ledger: see CALLSHEET_LEDGER"]
    return []
