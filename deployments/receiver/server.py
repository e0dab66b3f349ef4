"""The receiver of webhooks: signed deliveries become hints in the ledger, each once.

It answers 200 only after the commit, so that whatever is lost here is sent again. It does no work
of its own: a hint shortens a wait and is never believed. Knows no run and no flow.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from callsheet.deployments.process import inherited, origin_of
from callsheet.deployments.receiver.acceptance import (
    Acceptance,
    Application,
    Clock,
    OnHint,
    Receiver,
)
from callsheet.deployments.receiver.endpoint import BACKLOG, listen, name_of
from callsheet.deployments.web_server import answering, config_for
from callsheet.tasks.credentials import LiveSecrets
from callsheet.tasks.ledger.gauges import keeping_counts
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.runtime.known_settings import Settings

#: Connections at once; of a delivery that comes when there are more, the service is told to come
#: again.
MOST_CONNECTIONS = 768
#: Seconds that deliveries under way have at the end. A commit that takes longer is finished all the
#: same, and its delivery comes again.
GRACE = 2


@asynccontextmanager
async def receiving(
    ledger: Ledger,
    settings: Settings,
    *,
    on_hint: OnHint | None = None,
    clock: Clock = time.time,
    fd: int | None = None,
) -> AsyncIterator[Receiver]:
    """Receive deliveries on `settings.receiver` until left; `on_hint` is told each new one.

    `fd` is a socket on which the parent process listens, instead of that address.

    Raises ConfigurationError when the address cannot be had.
    """
    name = name_of(ledger.address)
    listening = await listen(settings.receiver, ledger=name) if fd is None else inherited(fd)
    try:
        receiver = Receiver(origin_of(listening))
        secrets = LiveSecrets(settings.webhook_secrets, settings.webhook_secret, clock=clock)
        acceptance = Acceptance(ledger, receiver, on_hint, clock)
        application = Application(acceptance, secrets, settings.webhook_vendor, name, clock)
        config = config_for(
            application,
            backlog=BACKLOG,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=GRACE,
        )
        dropping = asyncio.create_task(acceptance.drop_old_hints())
        try:
            async with keeping_counts(ledger), answering(config, listening):
                yield receiver
        finally:
            dropping.cancel()
            await asyncio.gather(dropping, return_exceptions=True)
            await acceptance.finish()
    finally:
        listening.close()
