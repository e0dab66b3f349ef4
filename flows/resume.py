"""Resumes rows under way, or executes a plan that was approved on the board, as Prefect flows.

It starts nothing and pays for nothing, so it needs neither the sheet nor an approval.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed, Failed

from callsheet.flows.approved_plan import execute
from callsheet.flows.campaign import performed
from callsheet.flows.endings import Ended, ShownDoor, attended, ended, ending, interruptible
from callsheet.flows.flow_runs import AS_TASKS, set_up_flow
from callsheet.flows.perform import approve_nothing
from callsheet.flows.shown import publish_report, showing
from callsheet.flows.shown.flow_page import PAGE
from callsheet.tasks.aftercare.resume import RESUME
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.shown_states import NAMES
from callsheet.tasks.runtime.errors import Parked


@flow(
    name="carry on",
    description="Delivers videos that have started; starts nothing new.",
    flow_run_name="carry on {campaign}",
    retries=0,
    persist_result=False,
)
async def carry_on(
    campaign: str, max_wait: str | None = None, profile: str | None = None
) -> State[dict[str, Any]]:
    """Resume the videos in progress of a campaign, unless another run is active.

    Args:
        campaign: whose videos.
        max_wait: park the run after this long, as `2h`.
        profile: settings from a TOML profile.
    """
    return await ended(_resume(campaign, max_wait, profile))


async def _resume(campaign: str, max_wait: str | None, profile: str | None) -> State[Any]:
    ask = RunOptions.of({"campaign": campaign, "max_wait": max_wait})
    return await performed(RESUME, ask, approve_nothing, profile, _Attended())


class _Attended(ShownDoor):
    """Leaves a campaign to the run that has its lease."""

    @asynccontextmanager
    async def watch(self, run: Run) -> AsyncIterator[None]:
        try:
            async with super().watch(run):
                yield
        except Parked as other:
            if run.has_begun:
                raise
            raise Ended(attended(str(other), {"campaign": run.options.campaign})) from other


# Executes a plan that was approved on the board, as a Prefect flow for its deployment.
#
# The ledger has the plan and its approver; the flow gets only the number of the run.


@flow(
    name="approved plan",
    description="Executes a plan that was approved on the board, exactly as approved.",
    flow_run_name="approved plan, run {run}",
    retries=0,
    persist_result=False,
)
async def carry_approved(run: str, profile: str | None = None) -> State[dict[str, Any]]:
    """Execute a plan that was approved on the board.

    Args:
        run: the number that the board gave the run.
        profile: settings from a TOML profile.
    """
    return await ended(_execute(run, profile))


async def _execute(run: str, profile: str | None) -> State[Any]:
    settings = set_up_flow(profile)
    place = f"prefect:{flow_run.id}"
    end = await execute(run, settings, AS_TASKS, place=place, watch=_watch)
    if end is None:
        return attended("another process is running it, or it has finished")
    if end.outcome is not None and end.exit_status in (0, 3, 5):
        # The board resumes a parked run.
        return ending(end.outcome)
    name, words = NAMES.get(end.exit_status, "Failed"), end.words
    if end.exit_status == 5:
        return Completed(name=name, message=words, data={})
    return Failed(name=name, message=words)


@asynccontextmanager
async def _watch(run: Run) -> AsyncIterator[None]:
    async with showing(run, PAGE), interruptible(run):
        yield
    await publish_report(PAGE, run)
