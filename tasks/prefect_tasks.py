"""The steps of a run as Prefect tasks.

Thin on purpose: what is done is in `tasks.campaign`, what has happened is in the ledger. Only ids
pass through Prefect, and nothing is cached: the ledger decides what is left to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Cancelled, Completed, Failed

from callsheet.tasks.campaign.run import current_run, take_or_follow
from callsheet.tasks.campaign.steps import (
    plan_step,
    produce_step,
    quote_step,
    read_step,
    report_step,
)
from callsheet.tasks.campaign.taken import Step
from callsheet.tasks.ledger.values import NEEDS_PERSON, NOT_BEGUN, UNDER_WAY, CampaignRow
from callsheet.tasks.ledger.values import State as RowState
from callsheet.tasks.runtime.errors import CallsheetError, Parked

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

    Its data is how many rest in each state; its words name the `table`, an address, where several
    rows are found one by one.
    """
    states = await take_step(produce_step, campaign, shard, label)
    if isinstance(states, State):
        # It was left before it started.
        return states
    row = await _only(states, label)
    if row is not None:
        # An engine that was stopped knows no more of what became of it.
        return end_of({row.state: 1}, row.reason, interrupted=current_run().interrupted)
    page = f"{table} has them row by row" if table and sum(states.values()) > 1 else None
    return end_of(states, page, interrupted=current_run().interrupted)


def end_of(
    states: Mapping[RowState, int], reason: str | None, *, interrupted: str | None = None
) -> State[Counts]:
    """Return the state of a task run whose rows are in these states; `reason` is that of one,
    or says where the reasons are.

    A row that needs a person has failed, under its own name. One that is not done yet is neither:
    the run goes no further with it.
    """
    present, data = [state for state, count in states.items() if count], dict(states)
    alone = present[0] if sum(states.values()) == 1 else None
    words = alone or ", ".join(f"{states[state]} {state}" for state in present)
    if reason is not None:
        words = reason if alone and reason.startswith(alone) else f"{words}; {reason}"
    if NEEDS_PERSON.intersection(present):
        return Failed(name=alone.capitalize() if alone else "NeedsPerson", message=words, data=data)
    if interrupted is None and "quoted" in present:
        return Failed(name="NeedsPerson", message=f"{words}; dearer than approved", data=data)
    if (UNDER_WAY | NOT_BEGUN).intersection(present):
        name = "Parked" if interrupted is None else "Cancelled"
        words = "; ".join(filter(None, (words, interrupted)))
        return Cancelled(name=name, message=words, data=data)
    if present == ["cancelled"]:
        return Cancelled(message=words, data=data)
    return Completed(message=None if alone == "delivered" else words, data=data)


async def _only(states: Mapping[RowState, int], label: str) -> CampaignRow | None:
    """Return the row that has the shard to itself, where it is not simply delivered."""
    if sum(states.values()) != 1 or states.get("delivered"):
        return None
    return next(iter(await current_run().named([label])), None)


@task(name="report-campaign", task_run_name="report {campaign}", **AS_STEP)
async def report_campaign(campaign: str) -> None:
    """Write manifest and status sheet into the store."""
    return await take_step(report_step, campaign)


# A step of a run as the Prefect task run at hand, which ends as the run does: not with a crash
# where someone cancelled or paused it, and without a traceback where an error says what it is.


T = TypeVar("T")


async def take_step(step: Step[T], *ids: str | int) -> T:
    """Take a step of the run at hand, or wait for its end where someone else takes the steps.

    A run that was interrupted leaves it with a state instead, which Prefect takes for the end of
    the task run, and so does an error of ours: anyone who awaits the task gets the error itself.
    """
    run = current_run()
    try:
        return await take_or_follow(run, step, *ids)
    except Parked as error:
        return cast(T, Cancelled(name="Parked", message=str(error), data=error))
    except CallsheetError as error:
        return cast(T, Failed(message=str(error), data=error))
    except asyncio.CancelledError:
        if (words := run.interrupted) is None:
            raise
        return cast(T, Cancelled(message=words))
