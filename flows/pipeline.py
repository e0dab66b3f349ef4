"""The order of the steps: read, plan, quote, approve, produce, report. There is only this one.

With Prefect each step is a task of a flow (`flows.campaign`), without it a plain call. Knows
neither what a step does nor what carries it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from tasks.campaign.run import Run
from tasks.campaign.steps import (
    approve_step,
    plan_step,
    produce_step,
    production,
    quote_step,
    read_step,
    report_step,
)
from tasks.campaign.values import RunOutcome


@dataclass(frozen=True)
class Steps:
    """The steps as something that can be called with ids."""

    read_sheet: Callable[[str], Awaitable[str]]
    plan_rows: Callable[[str], Awaitable[None]]
    quote_rows: Callable[[str], Awaitable[None]]
    produce_rows: Callable[[str, int, str], Awaitable[Any]]
    report_campaign: Callable[[str], Awaitable[None]]


PLAIN = Steps(read_step, plan_step, quote_step, produce_step, report_step)


async def prepare(run: Run, steps: Steps) -> str:
    """Read, plan, quote and approve; return the campaign's name.

    Doing it twice asks nothing and writes nothing the second time. Raises SheetError,
    SpendRefused, Parked, or whatever keeps the service, ledger or store from being used.
    """
    campaign = await steps.read_sheet(run.options.sheet)
    await steps.plan_rows(campaign)
    await steps.quote_rows(campaign)
    await approve_step(campaign)
    return campaign


async def run_pipeline(run: Run, steps: Steps) -> RunOutcome:
    """Take every step and return how it ended."""
    campaign = await prepare(run, steps)
    return await carry(run, steps, campaign)


async def carry(run: Run, steps: Steps, campaign: str) -> RunOutcome:
    """Produce what is approved or under way, report, and return how it ended."""
    async with production(run) as shards:
        labels = [
            shard[0].row if len(shard) == 1 else f"shard {n + 1} of {len(shards)}"
            for n, shard in enumerate(shards)
        ]
        await asyncio.gather(
            *(steps.produce_rows(campaign, n, label) for n, label in enumerate(labels))
        )
    await steps.report_campaign(campaign)
    assert run.outcome is not None
    return run.outcome
