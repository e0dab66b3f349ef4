"""Who subscribes, and the status of the subscription. Values alone: asks nobody."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from callsheet.tasks.clock import UnixClock
from callsheet.tasks.engine.context import organisation_of
from callsheet.tasks.engine.owner import this_process
from callsheet.tasks.ledger import Ledger
from callsheet.tasks.service import VideoService
from callsheet.tasks.settings import Settings


def new_nonce() -> str:
    """Return what nobody can guess and a path can hold; the ledger has room for 40 characters."""
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


@dataclass(frozen=True, kw_only=True)
class SubscriptionStatus:
    """The subscription as it was just found.

    made:    it was created just now.
    enabled: it had been disabled and is active again: whoever waits for hints must sweep.
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
