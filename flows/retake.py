"""Retakes as a Prefect flow, for a deployment.

The same steps as `callsheet retake --run`, without the sheet.
"""

from functools import partial
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from callsheet.flows.campaign import run_of
from callsheet.flows.endings import ended
from callsheet.flows.interface import Credits, amount_of
from callsheet.tasks.aftercare.retake import (
    approve_offers,
    begun_rows,
    count_videos,
    has_approved,
    offers,
    plan_of,
)
from callsheet.tasks.campaign.quotes import check_budget, is_within
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.selection import choose_rows
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.reviews import kept_rows
from callsheet.tasks.ledger.takes import RETAKEABLE
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from callsheet.tasks.runtime.errors import SpendRefused
from callsheet.tasks.values.amounts import in_credits


@flow(
    name="retake",
    description="Retakes of rows: a new video each, at an approved price.",
    flow_run_name="retake of {campaign}",
    retries=0,
    persist_result=False,
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
    return await ended(
        _retake(campaign, select, at_most, because, max_wait=max_wait, profile=profile)
    )


async def _retake(
    campaign: str,
    select: str,
    at_most: float | None,
    because: str | None,
    *,
    max_wait: str | None,
    profile: str | None,
) -> State[Any]:
    async def choose(run: Run, *, campaign: Campaign) -> list[str]:
        if await has_approved(run.at.ledger, campaign, run=str(flow_run.id)):
            return await _begun(run.at.ledger, campaign)
        return await _approve(run, campaign, select, at_most, because)

    return await run_of(campaign, choose, max_wait=max_wait, profile=profile)


async def _approve(
    run: Run, campaign: Campaign, select: str, at_most: float | None, because: str | None
) -> list[str]:
    """Approve a retake of every selected row and return the rows; raise SpendRefused."""
    rows = await _choose(run.at.ledger, campaign, select)
    found = [offer for offer in await offers(run.at, campaign, rows) if not offer.refusal]
    plan = plan_of(campaign, found, None)
    check_budget(plan)
    if not is_within(plan, amount_of(at_most)):
        raise SpendRefused(
            f"{in_credits(plan.total)} for {count_videos(len(found))} are not approved; "
            "nothing was spent",
            remedy="start the flow with `at_most` as high as that",
        )
    await run.at.store.check()
    # Cancelling this run cancels what it approves here.
    run.only = frozenset(offer.row.row for offer in found)
    said = partial(approve_offers, run=str(flow_run.id), by="approved by the flow's parameter")
    await said(run.at, campaign, found, because=because, budget=None)
    return [offer.row.row for offer in found]


async def _begun(ledger: Ledger, campaign: Campaign) -> list[str]:
    """Return the rows that are approved or in progress; raise SpendRefused if there are none.

    A flow run that has already approved its takes selects none: the selection could now match the
    new videos, and no one asked for another take of those.
    """
    names = await begun_rows(ledger, campaign)
    if not names:
        raise SpendRefused(
            "nothing of this retake is in progress any more; nothing more was spent",
            remedy="start a new retake for new takes: a restarted one pays for none",
        )
    return names


async def _choose(ledger: Ledger, campaign: Campaign, select: str) -> list[CampaignRow]:
    """Return the selected rows that can have a retake and are not kept."""
    known = await ledger.read(rows_of, campaign_id=campaign.id)
    kept = await ledger.read(kept_rows, campaign_id=campaign.id)
    return [
        row
        for row in choose_rows(known, None, select)
        if row.state in RETAKEABLE and row.enabled and row.id not in kept
    ]
