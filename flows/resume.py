"""Resumes rows under way, or executes a plan that was approved on the board, as Prefect flows.

It starts nothing and pays for nothing, so it needs neither the sheet nor an approval.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from callsheet.flows.approved_plan import execute
from callsheet.flows.campaign import performed
from callsheet.flows.endings import ATTENDED, callsheet_flow, completed, ending
from callsheet.flows.flow_runs import set_up_flow
from callsheet.flows.watch import shown
from callsheet.tasks.aftercare.resume import RESUME
from callsheet.tasks.campaign.approver import approve_nothing
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.shown_states import words_of


@callsheet_flow(
    "carry on", "Delivers videos that have started; starts nothing new.", "carry on {campaign}"
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
    ask = RunOptions.of({"campaign": campaign, "max_wait": max_wait})
    done = performed(RESUME, ask, approve_nothing, profile, partial(shown, leaves=True))
    return cast(State[dict[str, Any]], await done)


# Executes a plan that was approved on the board, as a Prefect flow for its deployment.
#
# The ledger has the plan and its approver; the flow gets only the number of the run.


@callsheet_flow(
    "approved plan",
    "Executes a plan that was approved on the board, exactly as approved.",
    "approved plan, run {run}",
)
async def carry_approved(run: str, profile: str | None = None) -> State[dict[str, Any]]:
    """Execute a plan that was approved on the board.

    Args:
        run: the number that the board gave the run.
        profile: settings from a TOML profile.
    """
    settings, place = set_up_flow(profile), f"prefect:{flow_run.id}"
    end = await execute(run, settings, place=place, watch=shown)
    if end is None:
        return completed(ATTENDED, "another process is running it, or it has finished")
    # The board resumes a parked run.
    if end.outcome is None:
        return ending(end.exit_status, end.words or "")
    return ending(end.exit_status, words_of(end.outcome), end.outcome.as_json())
