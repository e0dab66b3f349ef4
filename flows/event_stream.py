"""Sends events to Prefect and retries for as long as the server is unavailable.

Not `prefect.events.emit_event`: its thread gives up after eleven attempts, loses its events, and
keeps the process from exiting meanwhile (9 s if the port is closed, minutes if there is no
answer); without an address it starts a server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from prefect.events import Event
from prefect.events.clients import EventsClient, get_events_client
from prefect.settings import PREFECT_API_URL

from callsheet.flows.webhook_events import Emit, Payload, Resource
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.retry import RetryPolicy, retry

log = logging.getLogger("callsheet.events")

#: Timeout for one event in seconds, including the connection.
ANSWER = 15.0
#: An unavailable server is retried forever.
POLICY = RetryPolicy(first=1.0, longest=30.0, jitter=0.0)
#: Timeout for closing a connection, in seconds.
GOODBYE = 1.0


@asynccontextmanager
async def event_stream() -> AsyncIterator[Emit]:
    """Yield a function that sends events to the configured Prefect, with retries."""
    # It warns of every attempt; this logs once that the server is unavailable.
    logging.getLogger("prefect.events.clients").setLevel(logging.ERROR)
    if not PREFECT_API_URL.value():
        log.warning("Prefect gets no events: PREFECT_API_URL is not set")
    way = _Way()
    try:
        yield way.send
    finally:
        await way.close()


class _Way:
    """A connection to Prefect, opened for the first event and again after a failure."""

    def __init__(self) -> None:
        self._client: EventsClient | None = None

    async def send(
        self, event: str, *, resource: Resource, related: Sequence[Resource], payload: Payload
    ) -> None:
        """Send an event, with retries; do nothing without an address."""
        if not PREFECT_API_URL.value():
            return
        # Created once: an event that arrives twice has the same id and counts once.
        made = Event.model_validate(
            {"event": event, "resource": resource, "related": list(related), "payload": payload}
        )
        away = False

        async def attempt() -> bool:
            nonlocal away
            try:
                async with asyncio.timeout(ANSWER):
                    await self._emit(made)
            except Exception as error:
                await self.close()
                if not away:
                    log.warning("Prefect gets no webhook events: %s; retrying", _words(error))
                away = True
                return False
            return True

        await retry(attempt, POLICY, again=lambda told: not told)
        if away:
            log.warning("Prefect gets webhook events again")

    async def close(self) -> None:
        """Close the connection, with or without an answer."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):
                async with asyncio.timeout(GOODBYE):
                    await client.__aexit__(None, None, None)

    async def _emit(self, event: Event) -> None:
        if self._client is None:
            # Each event is confirmed, so that one lost by a stopping server is sent again.
            self._client = get_events_client(reconnection_attempts=1, checkpoint_every=1)
            await self._client.__aenter__()
        await self._client.emit(event)


def _words(error: Exception) -> str:
    return redact(str(error)) or type(error).__name__
