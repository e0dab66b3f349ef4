"""A plan that was approved on the board, carried out as a Prefect flow: for its deployment.

What was approved, and by whom, is in the ledger; the flow is given the number of the run alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed, Failed

from callsheet.flows.as_tasks import AS_TASKS
from callsheet.flows.carry_out import carry_out
from callsheet.flows.endings import NAMES, attended, ended, ending
from callsheet.flows.interruption import interruptible
from callsheet.flows.prefect_logs import set_up_prefect_logs
from callsheet.flows.shown import publish_report, showing
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.settings import load_settings
from callsheet.tasks.suggest import suggest_for


@flow(
    name="approved plan",
    description="Executes a plan that was approved on the board, exactly as approved.",
    flow_run_name="approved plan, run {run}",
    retries=0,
    persist_result=False,
)
async def carry_approved(run: str, profile: str | None = None) -> State[dict[str, Any]]:
    """Carry out what was approved on the board.

    Args:
        run: the number that the board gave the run.
        profile: settings from a TOML profile.
    """
    return await ended(_carry(run, profile))


async def _carry(run: str, profile: str | None) -> State[Any]:
    set_up_prefect_logs()
    suggest_for(profile, flow=True)
    settings = load_settings(profile=profile)
    place = f"prefect:{flow_run.id}"
    end = await carry_out(run, settings, AS_TASKS, place=place, watch=_watch)
    if end is None:
        return attended("somebody else carries it, or it is over")
    if end.outcome is not None and end.exit_status in (0, 3, 5):
        # What is parked is taken up again by the board.
        return ending(end.outcome, settings)
    name, words = NAMES.get(end.exit_status, "Failed"), end.words
    if end.exit_status == 5:
        return Completed(name=name, message=words, data={})
    return Failed(name=name, message=words)


@asynccontextmanager
async def _watch(run: Run) -> AsyncIterator[None]:
    async with showing(run), interruptible(run):
        yield
    await publish_report(run)
