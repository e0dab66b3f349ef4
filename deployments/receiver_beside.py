"""The receiver that a run brings along, unless one for its ledger is at work already."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from tasks.campaign.run import Run
from tasks.errors import ConfigurationError


@asynccontextmanager
async def receiver_beside(run: Run) -> AsyncIterator[None]:
    """Have webhooks heard while the run lasts, where there is an address for them.

    With `--wait webhook` raises ConfigurationError where they cannot be; else films are found by
    looking for them, which is said.
    """
    settings, wait = run.at.settings, run.options.wait
    if wait == "webhook" and not (settings.webhook_url or settings.webhook_secret):
        raise ConfigurationError(
            "--wait webhook needs the public address of a receiver; nothing was spent",
            remedy="set CALLSHEET_WEBHOOK_URL to an https address that leads to "
            f"{settings.receiver}, or use --wait auto",
        )
    if wait == "poll" or not (settings.webhook_url or settings.webhook_secret):
        yield
        return
    # Only a run that hears pays for the server.
    from deployments.receiver.endpoint import AlreadyReceiving
    from deployments.receiver.server import receiving

    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(receiving(run.at.ledger, settings))
        except AlreadyReceiving:
            pass
        except ConfigurationError as error:
            if wait == "webhook":
                raise
            print(f"no receiver of webhooks beside this run: {error}", file=sys.stderr)
        yield
