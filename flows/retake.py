"""Retakes as a Prefect flow, for a deployment.

The same steps as `callsheet retake --run`, without the sheet.
"""

from decimal import Decimal
from typing import Any, cast

from prefect.client.schemas.objects import State

from callsheet.flows.campaign import performed
from callsheet.flows.endings import callsheet_flow
from callsheet.flows.interface import Credits, amount_of
from callsheet.tasks.aftercare.retake import RETAKE
from callsheet.tasks.campaign.approver import ApprovePlan
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.quotes import check_budget, is_within
from callsheet.tasks.campaign.report import cost_at_most
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.runtime.errors import SpendRefused
from callsheet.tasks.values.amounts import count


@callsheet_flow(
    "retake", "Retakes of rows: a new video each, at an approved price.", "retake of {campaign}"
)
async def retake_rows(
    campaign: str,
    select: str,
    at_most: Credits | None = None,
    because: str | None = None,
    max_wait: str | None = None,
    profile: str | None = None,
) -> State[dict[str, Any]]:
    """Make another video of every selected row, and pay for it.

    Args:
        campaign: whose rows.
        select: which of them, as `state:failed` or `kettle-hero|kettle-wide`.
        at_most: the most credits that the takes may cost; without it nothing is paid for.
        because: the reason, for the history of the rows; the service gets the same brief again.
        max_wait: park the run after this long, as `2h`.
        profile: settings from a TOML profile.
    """
    ask, approve = RunOptions.of(locals()), within(amount_of(at_most))
    return cast(State[dict[str, Any]], await performed(RETAKE, ask, approve, profile))


def within(at_most: Decimal | None) -> ApprovePlan:
    """Return what approves for a flow that may pay so much, at prices that are known."""

    async def approve(plan: Plan) -> Plan:
        check_budget(plan)
        if not is_within(plan, at_most):
            videos = count(len(plan.spending), "more video")
            raise SpendRefused(
                f"{cost_at_most(plan)} for {videos} are not approved; nothing was spent",
                remedy="start the flow with `at_most` as high as that",
            )
        return plan.approved("approved by the flow's parameter")

    return approve
