"""Places that subscribe: a folder of secrets, a ledger, a client, and a receiver that may go."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callsheet.deployments.receiver.server import Receiver, receiving
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.service import VideoService, Webhook
from callsheet.tasks.service import operations as ops
from callsheet.tasks.webhooks import Subscriber, SubscriptionStatus, ensure_subscription

#: A ping within one machine takes milliseconds; this is how long one that never comes is awaited.
PING_TIMEOUT = 20.0
SHORT = 1.5


@dataclass(frozen=True)
class Place:
    """Where somebody subscribes; a service's webhook is ours when its address has our port."""

    at: Subscriber

    async def ensure(self, ping_timeout: float = PING_TIMEOUT) -> SubscriptionStatus:
        return await ensure_subscription(self.at, ping_timeout=ping_timeout)

    def receiver(self) -> AbstractAsyncContextManager[Receiver]:
        """Have a receiver at work, with the secrets of this place."""
        return receiving(self.at.ledger, self.at.settings)

    async def webhooks(self) -> list[Webhook]:
        """Return what the service has under our address."""
        listed = await self.at.service.ask(ops.LIST_WEBHOOKS)
        return [webhook for webhook in listed if (webhook.url or "").startswith(self.at.prefix)]

    def secrets(self) -> list[Path]:
        return sorted(self.at.folder.glob("*.json"))


@asynccontextmanager
async def place(
    folder: Path,
    ready: Mapping[str, Any],
    *,
    ledger: Path,
    port: int,
    key: str | None = None,
    more: Mapping[str, str] | None = None,
) -> AsyncIterator[Place]:
    """Open a place in `folder`; `ledger` is a file that others may share."""
    folder.mkdir(exist_ok=True)
    environ = {
        "CALLSHEET_BASE_URL": ready["base_url"],
        "CALLSHEET_API_KEY": key or ready["api_key"],
        "CALLSHEET_LEDGER": f"sqlite:///{ledger}",
        "CALLSHEET_WEBHOOK_URL": f"http://127.0.0.1:{port}/hooks",
        "CALLSHEET_RECEIVER": f"127.0.0.1:{port}",
    }
    settings = load_settings(environ={**environ, **(more or {})}, folder=folder)
    api_key = settings.key()
    async with (
        await open_ledger(settings.ledger) as opened,
        VideoService(base_url=ready["base_url"], api_key=api_key) as service,
    ):
        yield Place(Subscriber(settings=settings, ledger=opened, service=service, clock=time.time))
