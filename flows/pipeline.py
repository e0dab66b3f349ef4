"""The order of the steps: read, plan, quote, approve, produce, report. There is only this one.

In a flow (`flows.campaign`) each step is a task of Prefect's, elsewhere a plain call. Knows neither
what a step does nor what carries it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

from callsheet.tasks.campaign.production import produce_step, production
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.steps import (
    approve_step,
    plan_step,
    quote_step,
    read_step,
    report_step,
)
from callsheet.tasks.campaign.taken import Taken
from callsheet.tasks.campaign.values import RunOutcome


@dataclass(frozen=True)
class Steps:
    """The steps as something that can be called with ids."""

    read_sheet: Callable[[str], Awaitable[str]]
    plan_rows: Callable[[str], Awaitable[None]]
    quote_rows: Callable[[str], Awaitable[None]]
    produce_rows: Callable[[str, int, str], Awaitable[Any]]
    report_campaign: Callable[[str], Awaitable[None]]


PLAIN = Steps(read_step, plan_step, quote_step, produce_step, report_step)


def noted(taken: Taken) -> Steps:
    """Return the plain steps for a run that another process is to `follow`."""
    return Steps(*(partial(taken.take, step) for step in astuple(PLAIN)))


async def prepare(run: Run, steps: Steps) -> str:
    """Read, plan, quote and approve; return the campaign's name.

    Raises SheetError, SpendRefused, Parked, or whatever keeps the service, ledger or store from
    being used.
    """
    campaign = await _quote(run, steps)
    await approve_step(campaign)
    return campaign


async def run_pipeline(run: Run, steps: Steps) -> RunOutcome:
    """Take every step and return how it ended."""
    campaign = await prepare(run, steps)
    return await carry(run, steps, campaign)


async def carry(run: Run, steps: Steps, campaign: str) -> RunOutcome:
    """Produce what is approved or under way, report, and return how it ended.

    Where all is delivered and reported no engine is started.
    """
    if not run.settled:
        async with production(run):
            await _produce(steps, campaign, [shard.label for shard in run.shards])
    return await _report(run, steps, campaign)


async def follow(run: Run, steps: Steps) -> RunOutcome:
    """Follow a run of another process to its end; return how that was.

    Each step ends when it has been taken there; one that failed there raises the same here.
    """
    assert run.followed is not None
    for listener in run.listeners:
        listener(run.followed.snapshot)
    campaign = await _quote(run, steps)
    await _produce(steps, campaign, run.followed.labels)
    return await _report(run, steps, campaign)


async def _quote(run: Run, steps: Steps) -> str:
    campaign = await steps.read_sheet(run.options.sheet)
    await steps.plan_rows(campaign)
    await steps.quote_rows(campaign)
    return campaign


async def _produce(steps: Steps, campaign: str, labels: Sequence[str]) -> None:
    await asyncio.gather(
        *(steps.produce_rows(campaign, n, label) for n, label in enumerate(labels))
    )


async def _report(run: Run, steps: Steps, campaign: str) -> RunOutcome:
    await steps.report_campaign(campaign)
    assert run.outcome is not None
    return run.outcome
