"""What a run holds open.

Ledger, service, store, spool and clock; with the gate of the service that all processes share.

The one place where they are wired together.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from urllib.parse import urlsplit

from callsheet.tasks.engine.evidence import Baseline
from callsheet.tasks.engine.policy.decision import Lane
from callsheet.tasks.ledger.accounts import Terms
from callsheet.tasks.ledger.board_settings import in_force
from callsheet.tasks.ledger.gauges import keeping_counts
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.service_state import close_gate, gate_of
from callsheet.tasks.runtime.errors import LedgerError
from callsheet.tasks.runtime.home import make_home
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.logs import log_as
from callsheet.tasks.runtime.process import Sleep, UnixClock, raise_file_limit
from callsheet.tasks.service import Gate, VideoService
from callsheet.tasks.store import Fetcher, Inspector, Store, open_store
from callsheet.tasks.store.addresses import linking

log = logging.getLogger("callsheet.engine")

#: Requests that may be under way at once, however few the lanes are.
LEAST_AT_ONCE = 64
#: Files that a run has open besides those of its lanes: ledger, store, receiver, its own output. A
#: delivery has three besides its request: the video's connection, the part, and its target.
OTHER_FILES = 96


async def _nobody_else() -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class Context:
    """Everything a run speaks to; `clock` returns Unix seconds.

    `terms` limit what may be set aside; `in_charge` says whether the run still has its campaign.
    """

    settings: Settings
    ledger: Ledger
    service: VideoService
    store: Store
    fetcher: Fetcher
    baseline: Baseline
    inspector: Inspector = field(default_factory=partial(Inspector, "no"))
    clock: UnixClock = field(default=time.time)
    terms: Terms = field(default_factory=Terms)
    in_charge: Callable[[], Awaitable[bool]] = field(default=_nobody_else)

    @cached_property
    def service_address(self) -> str:
        """The service that requests go to: its host and path, on whatever port."""
        parts = urlsplit(self.settings.base_url or "")
        return f"{parts.hostname or ''}{parts.path.rstrip('/')}"

    async def service_time(self) -> float:
        """Return the moment (Unix seconds) by the later of our clock and the service's.

        By a clock that was set back, the service would seem to remember keys that it has forgotten.
        Raises ServiceError where the service has not answered yet, and does not now.
        """
        return self.clock() + await self.service.behind()


@asynccontextmanager
async def connect(settings: Settings, *, clock: UnixClock = time.time) -> AsyncIterator[Context]:
    """Open everything a run needs, and close it in the reverse order.

    Raises ConfigurationError, LedgerError or StoreUnusable before anything can be spent.
    """
    settings.service()
    log_as(settings.log, settings.log_level)
    settings = fitted(settings, raise_file_limit())
    make_home(settings.home)
    async with AsyncExitStack() as stack:
        ledger = await stack.enter_async_context(await open_ledger(settings.ledger))
        settings = await ledger.read(in_force, settings=settings)
        check_links(settings)
        if settings.traces:
            from callsheet.tasks.metrics.exporters import sending_traces

            await stack.enter_async_context(sending_traces())
        await stack.enter_async_context(keeping_counts(ledger))
        service = await stack.enter_async_context(await open_service(settings, ledger, clock))
        following = following_gate(ledger, service, organisation_of(settings))
        await stack.enter_async_context(following)
        inspector = Inspector(settings.second_process, timeout=settings.second_process_timeout)
        stack.push_async_callback(inspector.aclose)
        store = open_store(settings.store)
        stack.push_async_callback(store.aclose)
        fetcher = await stack.enter_async_context(make_fetcher(settings, settings.spool))
        yield Context(
            settings=settings,
            ledger=ledger,
            service=service,
            store=store,
            fetcher=fetcher,
            baseline=Baseline(ledger, service, organisation_of(settings)),
            inspector=inspector,
            clock=clock,
        )


def check_links(settings: Settings) -> None:
    """Raise ConfigurationError where links are asked for that cannot be made."""
    linking(open_store(settings.store).address, settings.links)


async def open_service(settings: Settings, ledger: Ledger | None, clock: UnixClock) -> VideoService:
    """Return the client, behind the organisation's one gate, which the ledger remembers."""
    base_url, api_key = settings.service()
    organisation = organisation_of(settings)
    closed_until: datetime | None = None
    writes: set[asyncio.Task[None]] = set()

    def remember(until: datetime) -> None:
        if ledger is None:
            return
        task = asyncio.ensure_future(
            ledger.write(close_gate, organisation=organisation, until=until.timestamp())
        )
        writes.add(task)
        task.add_done_callback(writes.discard)

    if ledger is not None:
        known = await ledger.read(gate_of, organisation=organisation)
        if known is not None and known > clock():
            closed_until = datetime.fromtimestamp(known, UTC)
    gate = Gate(closed_until=closed_until, on_close=remember)
    return VideoService(
        base_url=base_url,
        api_key=api_key,
        gate=gate,
        concurrency=_at_once(settings),
        measures=None if ledger is None else ledger.measures,
    )


def _at_once(settings: Settings) -> int:
    # Quotes are asked for before the engine's lanes are at work.
    return max(LEAST_AT_ONCE, _workers(settings), settings.polls_at_once)


def lanes_of(settings: Settings) -> Mapping[Lane, int]:
    """Return how many workers each lane has."""
    return {
        "submit": settings.at_once,
        # A call without a key goes alone, or no one could tell what a lost answer left behind.
        "submit_unkeyed": 1,
        "search": 1,
        "poll": settings.polls_at_once,
        "cancel": settings.at_once,
        "deliver": settings.at_once,
    }


def _workers(settings: Settings) -> int:
    return sum(lanes_of(settings).values())


def fitted(settings: Settings, limit: int | None) -> Settings:
    """Return the settings with no more lanes than `limit` files may be open at once for.

    Where that is fewer than were asked for, it is said.
    """
    needed = OTHER_FILES + 3 * settings.at_once + max(_workers(settings), settings.polls_at_once)
    if limit is None or needed <= limit:
        return settings
    part = max(0, limit - OTHER_FILES) / (needed - OTHER_FILES)
    fewer = max(1, int(part * settings.at_once))
    log.warning(
        "this process may have %d files open, and at_once %d needs %d: it is %d now; "
        "`ulimit -n %d` before it lets it be",
        limit,
        settings.at_once,
        needed,
        fewer,
        needed,
    )
    return settings.model_copy(update={"at_once": fewer})


def organisation_of(settings: Settings) -> str:
    """Return a fingerprint of the service and the key: what is shared by all who use them."""
    base_url, api_key = settings.service()
    return hashlib.sha256(f"{base_url} {api_key}".encode()).hexdigest()[:32]


def make_fetcher(settings: Settings, spool: Path) -> Fetcher:
    """Return the downloader; plain http is allowed only where the service itself speaks it."""
    allow_http = (settings.base_url or "").startswith("http://")
    return Fetcher(spool=spool, allow_http=allow_http)


# The gate as all processes of one ledger share it: each writes until when the service refuses
# requests, and reads it a few times a second and with the intent of every create.


#: How often the ledger is asked what other processes were told by the service, in seconds.
EVERY = 0.25
#: So much later after a fault of ours, which is told each time.
AFTER_FAULT = 5.0


@asynccontextmanager
async def following_gate(
    ledger: Ledger, service: VideoService, organisation: str, *, sleep: Sleep = asyncio.sleep
) -> AsyncIterator[None]:
    """Keep to what other processes are told by the service, while this one is at work."""
    task = asyncio.create_task(_follow(ledger, service, organisation, sleep), name="gate")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def heed(service: VideoService, closed_until: float | None) -> None:
    """Close the gate here, too, until a moment (Unix seconds) that another process was told."""
    if closed_until:
        service.gate.close(datetime.fromtimestamp(closed_until, UTC))


async def _follow(ledger: Ledger, service: VideoService, organisation: str, sleep: Sleep) -> None:
    while True:
        try:
            heed(service, await ledger.read(gate_of, organisation=organisation))
        except LedgerError as error:
            # A ledger that is busy now is asked again.
            log.debug("the gate of the service could not be read: %s", error)
        except Exception as error:
            # Whatever it is: to follow no more would be to break limits of the service.
            log.warning("the gate of the service could not be read: %r", error)
            await sleep(AFTER_FAULT)
        await sleep(EVERY)
