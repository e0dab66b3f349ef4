"""What is approved is made: an engine, or workers, at work on the rows of a run until each rests.

Owns what goes on around them meanwhile: webhooks are followed, and progress is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext

from sqlalchemy import Connection

from callsheet.tasks.campaign.match import note_ledger
from callsheet.tasks.campaign.report_files import write_manifest
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.run_record import expected_in, steps_to
from callsheet.tasks.campaign.workers import Workers, WorkerStarter
from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.engine.pages import NAMED, Shard, Work
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.row_selection import names_of_rows, rows_to_process
from callsheet.tasks.ledger.values import State
from callsheet.tasks.runtime.process import search_of_new
from callsheet.tasks.runtime.telemetry import span
from callsheet.tasks.webhooks import Subscriber
from callsheet.tasks.webhooks.listener import following_hints

log = logging.getLogger("callsheet.run")

#: How often progress is shown, in seconds.
TICK = 0.5


@asynccontextmanager
async def production(run: Run) -> AsyncIterator[list[Shard]]:
    """Start the engine; yield the shards it is to process, as many as Prefect is to see."""
    steps_to("producing")
    assert run.campaign is not None, "the rows are planned first"
    if run.sheet is not None:
        # The ledger has the rows, and they are read from it as their turn comes.
        run.sheet = run.sheet.without_rows()
    work = await _work_of(run)
    if run.sheet is not None and (work or run.campaign.charged):
        note_ledger(run.at.settings, run.sheet)
    if work:
        # Before anything is paid for: should the ledger be lost, the store knows of it.
        await write_manifest(run.at, run.campaign)
    async with AsyncExitStack() as stack:
        stack.enter_context(search_of_new())
        stack.enter_context(span("produce"))
        engine: Engine | Workers
        starter = await run.meet_starter() if work else None
        if starter is None:
            engine = Engine(run.campaign, run.at, max_wait=run.time_left)
        else:
            engine = _workers(run, run.campaign, work, starter)
        run.engine = await stack.enter_async_context(engine)
        if run.lost:
            engine.stop(run.lost)
        run.shards = await _shards(run, work) if isinstance(engine, Engine) else engine.shards
        engine.progress.expects(len(work))
        await stack.enter_async_context(_following_hints(run, engine) if work else nullcontext())
        # From here on rows may be paid for, here or by the workers.
        run.pays = bool(work)
        if isinstance(engine, Workers):
            await engine.start()
        ticker = asyncio.create_task(_tell(run, engine), name="progress")
        try:
            yield run.shards
        finally:
            ticker.cancel()
            for listener in run.listeners:
                listener(engine.snapshot())


async def _work_of(run: Run) -> Work:
    """Return what a run processes, in the order in which it goes."""
    assert run.campaign is not None, "the rows are planned first"
    campaign_id = run.campaign.id

    def read(connection: Connection) -> Work:
        return Work(row for row in rows_to_process(connection, campaign_id) if run.has(row.row))

    return await run.at.ledger.read(read)


def _workers(run: Run, campaign: Campaign, work: Work, starter: WorkerStarter) -> Workers:
    return Workers(
        campaign,
        run.at,
        production_id=run.production_id,
        count=run.options.workers or 1,
        starter=starter,
        work=work,
        whole=run.is_about_all,
        max_wait=run.time_left,
    )


async def _shards(run: Run, work: Work) -> list[Shard]:
    """Part what is processed; the rows that a shard is named after are not known yet where many."""
    if len(work) <= NAMED:
        return work.shards()
    return work.shards(await run.at.ledger.read(names_of_rows, numbers=work.ends()))


def _following_hints(run: Run, engine: Engine | Workers) -> AbstractAsyncContextManager[None]:
    """Follow webhooks while the engine works, where there is an address for them."""
    at, wait = run.at, run.options.wait
    if wait == "poll" or not (at.settings.webhook_url or at.settings.webhook_secret):
        return nullcontext()
    who = Subscriber(settings=at.settings, ledger=at.ledger, service=at.service, clock=at.clock)
    return following_hints(who, engine, say=run.say, strict=wait == "webhook")


async def _tell(run: Run, engine: Engine | Workers) -> None:
    while True:
        snapshot = engine.snapshot()
        expected_in(snapshot.seconds_left)
        for listener in run.listeners:
            listener(snapshot)
        await asyncio.sleep(TICK)


async def produce_step(run: Run, campaign: str, shard: int, label: str) -> dict[State, int]:
    """Process one shard of the rows until each rests; return how many rest in each state."""
    assert run.engine is not None, "production is started first"
    return dict(await run.engine.process_shard(run.shards[shard]))
