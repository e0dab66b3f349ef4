"""Callsheet turns a campaign sheet into finished videos: the names that your own programs import.

What is listed here keeps its name, its parameters and its result within a major version, as
docs/stability.md says:

    from prefect import flow
    from callsheet import CampaignResult, run_campaign

    @flow
    async def launch(sheet: str) -> CampaignResult:
        return await run_campaign(sheet=sheet, approve="yes", budget=200)

Everything below `callsheet.flows`, `callsheet.tasks` and `callsheet.deployments` may change with
any release. A name is loaded when you ask for it: `import callsheet` loads nothing.
"""

from typing import TYPE_CHECKING

from callsheet.tasks.runtime.process import load_on_demand

if TYPE_CHECKING:
    from callsheet.flows.campaign import run_campaign
    from callsheet.flows.cancel import cancel_campaign
    from callsheet.flows.interface import CampaignResult, CreditsResult, PlanResult
    from callsheet.flows.nightly import sweep_inbox, tell_digest
    from callsheet.flows.plan import approve_campaign, plan_campaign
    from callsheet.flows.reconcile import reconcile_ledger
    from callsheet.flows.resume import carry_approved, carry_on
    from callsheet.flows.retake import retake_rows
    from callsheet.flows.workers import carry_batches
else:
    __getattr__ = load_on_demand(__name__, __file__)

__all__ = [
    "CampaignResult",
    "CreditsResult",
    "PlanResult",
    "approve_campaign",
    "cancel_campaign",
    "carry_approved",
    "carry_batches",
    "carry_on",
    "plan_campaign",
    "reconcile_ledger",
    "retake_rows",
    "run_campaign",
    "sweep_inbox",
    "tell_digest",
]
