"""Callsheet turns a campaign sheet into finished videos: the names that your own programs import.

What is listed here keeps its name, its parameters and its result within a major version, as
docs/stability.md says:

    from prefect import flow
    from callsheet import campaign_rows, run_campaign

    @flow
    async def launch(sheet: str) -> None:
        result = await run_campaign(sheet=sheet, approve="yes", budget=200)
        async for row in campaign_rows(result["campaign"], select="state:delivered"):
            await publish(row["row"], [file["uri"] for file in row["deliveries"]])

Everything below `callsheet.flows`, `callsheet.tasks` and `callsheet.deployments` may change with
any release. A name is loaded when you ask for it: `import callsheet` loads nothing.
"""

from typing import TYPE_CHECKING

from callsheet.tasks.runtime.process import load_on_demand

if TYPE_CHECKING:
    from callsheet.flows.campaign import run_campaign
    from callsheet.flows.cancel import cancel_campaign
    from callsheet.flows.interface import (
        CampaignResult,
        CreditsResult,
        FileResult,
        PlanResult,
        RowResult,
    )
    from callsheet.flows.nightly import sweep_inbox, tell_digest
    from callsheet.flows.plan import approve_campaign, plan_campaign
    from callsheet.flows.reconcile import reconcile_ledger
    from callsheet.flows.resume import carry_approved, carry_on
    from callsheet.flows.retake import retake_rows
    from callsheet.flows.rows import campaign_rows
    from callsheet.flows.workers import carry_batches
    from callsheet.tasks.runtime.errors import (
        AllowanceSpent,
        BadInput,
        BadRequest,
        CallsheetError,
        ConfigurationError,
        Conflict,
        Forbidden,
        InsufficientCredits,
        LedgerDamaged,
        LedgerError,
        LedgerFull,
        LedgerNewer,
        LoginError,
        MovedOn,
        NeedsPerson,
        NoSuch,
        NotApproved,
        NotFound,
        NotHere,
        NotSent,
        OtherRefusal,
        OutcomeUnknown,
        OverBudget,
        Parked,
        RateLimited,
        Refused,
        RunStopped,
        ServerTrouble,
        ServiceError,
        ShapeError,
        SheetError,
        SpendRefused,
        StoreError,
        StoreUnusable,
        Unauthenticated,
        VideoError,
        VideoKept,
        WrongState,
    )
else:
    __getattr__ = load_on_demand(__name__, __file__)

__all__ = [
    "AllowanceSpent",
    "BadInput",
    "BadRequest",
    "CallsheetError",
    "CampaignResult",
    "ConfigurationError",
    "Conflict",
    "CreditsResult",
    "FileResult",
    "Forbidden",
    "InsufficientCredits",
    "LedgerDamaged",
    "LedgerError",
    "LedgerFull",
    "LedgerNewer",
    "LoginError",
    "MovedOn",
    "NeedsPerson",
    "NoSuch",
    "NotApproved",
    "NotFound",
    "NotHere",
    "NotSent",
    "OtherRefusal",
    "OutcomeUnknown",
    "OverBudget",
    "Parked",
    "PlanResult",
    "RateLimited",
    "Refused",
    "RowResult",
    "RunStopped",
    "ServerTrouble",
    "ServiceError",
    "ShapeError",
    "SheetError",
    "SpendRefused",
    "StoreError",
    "StoreUnusable",
    "Unauthenticated",
    "VideoError",
    "VideoKept",
    "WrongState",
    "approve_campaign",
    "campaign_rows",
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
