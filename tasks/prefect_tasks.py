"""The steps of a run as Prefect tasks.

Thin on purpose: what is done is in `tasks.campaign`, what has happened is in the ledger. Only ids
pass through Prefect, and nothing is cached: the ledger decides what is left to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, StateType

from callsheet.tasks.campaign.run import current_run
from callsheet.tasks.campaign.shown_states import ShownState, state_of_error, state_of_shard
from callsheet.tasks.campaign.steps import (
    plan_step,
    produce_step,
    quote_step,
    read_step,
    report_step,
)
from callsheet.tasks.ledger.values import State as RowState
from callsheet.tasks.runtime.errors import CallsheetError

#: How every step is a task: nothing of it is kept by Prefect, or done again by it.
AS_STEP: dict[str, Any] = {
    "tags": ["callsheet"],
    "cache_policy": NO_CACHE,
    "persist_result": False,
    "retries": 0,
}


@task(name="read-sheet", task_run_name="read the sheet", **AS_STEP)
async def read_sheet(sheet: str) -> str:
    """Read the campaign's sheet and return the campaign's name."""
    return await take_step(read_step, sheet)


@task(name="plan-rows", task_run_name="plan {campaign}", **AS_STEP)
async def plan_rows(campaign: str) -> None:
    """Take the sheet's rows into the ledger."""
    return await take_step(plan_step, campaign)


@task(name="quote-rows", task_run_name="quote {campaign}", **AS_STEP)
async def quote_rows(campaign: str) -> None:
    """Ask what the rows would cost."""
    return await take_step(quote_step, campaign)


Counts = dict[RowState, int]


@task(name="produce-rows", task_run_name="{label}", **AS_STEP)
async def produce_rows(
    campaign: str, shard: int, label: str, table: str | None = None
) -> State[Counts]:
    """Process one shard of the rows until each rests; return a state that says where they do.

    Its data is how many rest in each state.
    """
    states = await take_step(produce_step, campaign, shard, label)
    if isinstance(states, State):
        # It was left before it started.
        return states
    return _as_prefect(await state_of_shard(current_run(), states, label, table), dict(states))


@task(name="report-campaign", task_run_name="report {campaign}", **AS_STEP)
async def report_campaign(campaign: str) -> None:
    """Write manifest and status sheet into the store."""
    return await take_step(report_step, campaign)


# A step of a run as the Prefect task run at hand, which ends as the run does: not with a crash
# where someone cancelled or paused it, and without a traceback where an error says what it is.


T = TypeVar("T")
Step = Callable[..., Awaitable[T]]


async def take_step(step: Step[T], *ids: str | int) -> T:
    """Take a step of the run at hand.

    A run that was interrupted leaves it with a state instead, which Prefect takes for the end of
    the task run, and so does an error of ours: anyone who awaits the task gets the error itself.
    """
    run = current_run()
    try:
        return await step(run, *ids)
    except CallsheetError as error:
        return cast(T, _as_prefect(state_of_error(error, run), error))
    except asyncio.CancelledError as error:
        if run.interrupted is None:
            raise
        return cast(T, _as_prefect(state_of_error(error, run), None))


def _as_prefect(shown: ShownState, data: Any) -> State[Any]:
    return State(type=StateType[shown.type], name=shown.name, message=shown.message, data=data)
