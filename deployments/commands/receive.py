"""`callsheet receive`: receive webhooks for every run on the ledger, until it is stopped."""

from __future__ import annotations

import asyncio
import sys
import time
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from rich.console import Console

from callsheet.deployments.commands.options import settings_of
from callsheet.deployments.new_ledger import prepare_ledger
from callsheet.deployments.process import handle_stops, run_command
from callsheet.deployments.receiver.server import Receiver, receiving
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.credentials import LiveSecrets
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import redact, redacted, say
from callsheet.tasks.values.amounts import count


def main(args: Namespace) -> int:
    """Serve; return 0 when told to stop. Raises ConfigurationError when it cannot listen."""
    run_command(_receive(args, console_for(args)))
    return 0


async def _receive(args: Namespace, console: Console) -> None:
    settings = settings_of(args)
    prepare_ledger(settings)
    stop = asyncio.Event()
    handle_stops(stop.set)
    async with (
        await open_ledger(settings.ledger) as ledger,
        receiver_of(ledger, settings, fd=args.fd) as receiver,
    ):
        _tell(receiver, settings, console)
        if args.json:
            metrics = {"metrics": receiver.metrics} if receiver.metrics else {}
            said = {"receiver": receiver.address, "webhook_url": redacted(settings.webhook_url)}
            print_json({**said, **metrics})
            sys.stdout.flush()
        await stop.wait()
    console.print(f"stopped; {count(receiver.heard, 'webhook')} received")


@asynccontextmanager
async def receiver_of(
    ledger: Ledger, settings: Settings, *, fd: int | None = None
) -> AsyncIterator[Receiver]:
    """Receive, and answer Prometheus where `metrics` says; Prefect is told where that is set.

    `fd` is a socket on which the parent process listens.
    """
    async with AsyncExitStack() as stack:
        receiver = await stack.enter_async_context(_receiver_at(ledger, settings, fd))
        if settings.metrics:
            from callsheet.deployments.web_server import telling_metrics

            telling = telling_metrics(ledger, settings.metrics)
            receiver.metrics = await stack.enter_async_context(telling)
            say(f"metrics are at {receiver.metrics}")
        yield receiver


@asynccontextmanager
async def _receiver_at(
    ledger: Ledger, settings: Settings, fd: int | None
) -> AsyncIterator[Receiver]:
    if not settings.prefect_events:
        async with receiving(ledger, settings, fd=fd) as receiver:
            yield receiver
        return
    # Nothing else here needs Prefect.
    from callsheet.deployments.prefect_events import announcer

    async with (
        announcer(ledger) as announce,
        receiving(ledger, settings, on_hint=announce, fd=fd) as receiver,
    ):
        yield receiver


def _tell(receiver: Receiver, settings: Settings, console: Console) -> None:
    """Say once what is where, and what is still missing."""
    console.print(plain(f"receiving webhooks at {receiver.address}; press Ctrl+C to stop"))
    if settings.webhook_url:
        url = redact(settings.webhook_url)
        console.print(plain(f"every POST to {url}, and below, has to reach it"))
    else:
        console.print("CALLSHEET_WEBHOOK_URL is not set: the public https address that leads here")
    try:
        secrets = LiveSecrets(settings.webhook_secrets, settings.webhook_secret, clock=time.time)()
    except CallsheetError as error:
        say(f"no delivery can be checked: {error}\n  {error.remedy}")
        return
    if not secrets:
        say(
            "there is no secret yet, so every webhook is rejected: `callsheet webhooks "
            "ensure` makes a subscription with one, which is taken up here at once"
        )
