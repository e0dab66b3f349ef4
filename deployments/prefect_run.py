"""A run whose steps Prefect carries; a server that goes away does not take the run with it.

Prefect shows and schedules, the ledger knows: once the server has been gone for a while, the rest
of the steps is taken without it.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.status import Status

from deployments.servers import SERVER, PrefectServer, is_healthy
from flows.pipeline import PLAIN, carry, prepare
from tasks.campaign.run import Run
from tasks.campaign.steps import report_step
from tasks.campaign.values import RunOutcome
from tasks.duration import say_duration
from tasks.errors import Parked
from tasks.redact import redact

#: A server that has not answered for this long is gone, in seconds; one that restarts is not.
GONE = 30.0
#: How often it is asked whether it is there, in seconds.
ASK = 2.0
#: How long the flow may take to let go of the rows, in seconds: more than the engine needs.
LET_GO = 10.0


async def run_under_prefect(
    run: Run, server: PrefectServer, args: Namespace, console: Console
) -> RunOutcome:
    """Take every step as a flow run; raise what `flows.pipeline.run_pipeline` raises.

    What moves nothing never waits for Prefect.
    """
    campaign = await prepare(run, PLAIN)
    assert run.plan is not None
    if run.plan.moves_anything:
        # Prefect takes seconds to import and its server to start; both go on beside each other.
        _point_at(server, verbose=args.verbose)
        async with _told(console, "starting Prefect (--without-prefect needs none)"):
            flow = await asyncio.to_thread(importlib.import_module, "flows.campaign")
            await asyncio.to_thread(server.wait)
        arguments = {
            # For the eyes alone: the run is open already, and what signs an address stays here.
            "sheet": redact(run.options.sheet),
            "campaign": campaign,
            "budget": None if run.options.budget is None else float(run.options.budget),
            "select": run.options.select,
            "profile": args.profile,
        }
        carried = asyncio.create_task(flow.run_campaign(**arguments))
        await _end_or_loss(run, carried, server)
    if run.outcome is None:
        await _remaining_steps(run, campaign)
    assert run.outcome is not None
    return run.outcome


@asynccontextmanager
async def _told(console: Console, words: str) -> AsyncIterator[None]:
    """Say what is waited for: on a terminal for how long by now, elsewhere once."""
    if not console.is_terminal:
        console.print(words)
        yield
        return
    began = asyncio.get_running_loop().time()

    async def count(status: Status) -> None:
        while True:
            seconds = asyncio.get_running_loop().time() - began
            status.update(f"{words}, {say_duration(seconds)}")
            await asyncio.sleep(1.0)

    with console.status(words) as status:
        counting = asyncio.create_task(count(status), name="counting")
        try:
            yield
        finally:
            counting.cancel()


async def _end_or_loss(run: Run, carried: asyncio.Task[Any], server: PrefectServer) -> None:
    """Wait for the end of the flow run, or until the server is gone and the rows are let go.

    Raises what the flow run raises, and Parked when it does not let go.
    """
    loss = asyncio.create_task(_loss_of(server), name="loss of Prefect")
    try:
        await asyncio.wait({carried, loss}, return_when=asyncio.FIRST_COMPLETED)
        if carried.done():
            await carried
            return
    finally:
        loss.cancel()
        await _let_go(run, carried)
    server.gone = True
    if not (carried.done() or (run.engine is not None and run.engine.at_rest)):
        # It might still begin to carry the rows: nobody else may, beside it.
        raise Parked(
            "Prefect's server went away and the calls under way did not end in time; "
            "everything paid for is in the ledger",
            until=datetime.fromtimestamp(run.at.clock(), UTC),
            remedy="run the same command again",
        )
    print(
        f"the Prefect server at {server.url} is gone: the run goes on without it", file=sys.stderr
    )


async def _loss_of(server: PrefectServer) -> None:
    """Return once the server has not answered for GONE seconds."""
    clock = asyncio.get_running_loop().time
    answered = clock()
    while clock() - answered < GONE:
        await asyncio.sleep(ASK)
        if await asyncio.to_thread(is_healthy, server.url):
            answered = clock()


async def _let_go(run: Run, carried: asyncio.Task[Any]) -> None:
    """End the flow run: first the calls under way, in order, then its talk to the server."""
    deadline = asyncio.get_running_loop().time() + LET_GO
    carried.cancel()
    while not carried.done() and (
        asyncio.get_running_loop().time() < deadline or (run.engine and run.engine.paying)
    ):
        await asyncio.wait({carried}, timeout=0.2)
        if run.engine is None or run.engine.at_rest:
            # One word to the server after the other is tried, each for a minute.
            carried.cancel()
    if carried.done() and not carried.cancelled():
        # Retrieved, so that nobody prints it: the server's silence has been told already.
        carried.exception()


async def _remaining_steps(run: Run, campaign: str) -> None:
    """Carry what Prefect left behind, or only report when there is nothing to carry."""
    assert run.plan is not None
    engine = run.engine
    if run.plan.moves_anything and (engine is None or not engine.parked_because):
        await carry(run, PLAIN, campaign)
    else:
        await report_step(campaign)


def _point_at(server: PrefectServer, *, verbose: bool) -> None:
    """Set Prefect up before it is imported: its address, and no talk of its own."""
    os.environ["PREFECT_API_URL"] = server.url
    os.environ["PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED"] = "false"
    os.environ["PREFECT_LOGGING_TO_API_ENABLED"] = "false"
    os.environ["DO_NOT_TRACK"] = SERVER["DO_NOT_TRACK"]
    if not verbose:
        os.environ["PREFECT_LOGGING_LEVEL"] = "CRITICAL"
        os.environ["PREFECT_LOGGING_INTERNAL_LEVEL"] = "CRITICAL"
