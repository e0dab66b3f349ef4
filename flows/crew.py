"""One crew of a campaign that several machines carry, as a flow run of a deployment.

It is given the number of what it carries, and finds all else in the ledger. Whatever ends it, its
rows are taken up by another: nothing depends on Prefect to notice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.states import Cancelled, Completed

from callsheet.flows.endings import ended, park
from callsheet.flows.interruption import ASK, WORDS, Kind, ask_prefect, on_sigterm
from callsheet.flows.prefect_logs import set_up_prefect_logs
from callsheet.tasks.campaign.crew import Crew, CrewReport
from callsheet.tasks.engine.context import connect
from callsheet.tasks.settings import load_settings
from callsheet.tasks.suggest import suggest_for


@flow(
    name="crew",
    description="One of several workers of a distributed run; the run starts it.",
    flow_run_name="crew {crew} of {production}",
    retries=0,
    persist_result=False,
)
async def carry_batches(
    production: str, crew: int, profile: str | None = None
) -> State[dict[str, Any]]:
    """Carry batches of a campaign's rows until nobody has any left.

    Args:
        production: the number that the run gave to what its crews carry.
        crew: which of them this is, from 1.
        profile: settings from a TOML profile.
    """
    return await ended(_carry(production, crew, profile))


async def _carry(production: str, number: int, profile: str | None) -> State[Any]:
    set_up_prefect_logs()
    suggest_for(profile, flow=True)
    async with connect(load_settings(profile=profile)) as at:
        crew = Crew(at, production, number)
        async with _obeying(crew) as told:
            report = await crew.carry()
    words = _words(report)
    if report.left_because:
        get_run_logger().warning(words)
    if told == ["cancelled"]:
        return Cancelled(message=words)
    if told == ["stopped"]:
        # Another worker takes it up, if there is still something to carry.
        return await park(words, datetime.now(UTC), at_once=True)
    return Completed(message=words, data=report.as_json())


@asynccontextmanager
async def _obeying(crew: Crew) -> AsyncIterator[list[Kind]]:
    """Have the crew leave when its flow run is cancelled or paused, or its worker is stopped.

    Yields what it was told, if anything.
    """
    told: list[Kind] = []
    asking: set[asyncio.Task[None]] = set()

    def hear(kind: Kind) -> None:
        if not told:
            told.append("cancelled" if kind == "paused" else kind)
            crew.leave(WORDS[kind])

    async def find_out() -> None:
        hear((await ask_prefect())[0] or "stopped")

    async def ask() -> None:
        while not told:
            await asyncio.sleep(ASK)
            if kind := (await ask_prefect())[0]:
                hear(kind)

    def signalled() -> None:
        asking.add(asyncio.create_task(find_out(), name="signal"))

    asking.add(asyncio.create_task(ask(), name="state of the flow run"))
    with on_sigterm(signalled):
        try:
            yield told
        finally:
            for task in asking:
                task.cancel()


def _words(report: CrewReport) -> str:
    rows = ", ".join(f"{count} {state}" for state, count in report.rows.items())
    words = f"{report.batches} batches: {rows or 'no rows'}"
    return f"{words}; left early: {report.left_because}" if report.left_because else words
