"""What waits for an approval: rows that a run has priced and nobody has said yes to.

They are approved from the ledger alone, at the prices they were shown with; the sheet need not be
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.aftercare.begun import approve_once
from callsheet.tasks.campaign.quote import as_shown, check_wanted
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.credits import in_credits
from callsheet.tasks.ledger import (
    Campaign,
    CampaignRow,
    Ledger,
    approve,
    changed_since,
    check_unchanged,
    priced_rows,
    rows_of,
    set_budget,
)


async def waiting_rows(ledger: Ledger, campaign: Campaign) -> list[CampaignRow]:
    """Return the rows of a campaign that wait for an approval, in sheet order."""
    found = await ledger.read(partial(rows_of, campaign_id=campaign.id))
    return [row for row in found if row.state == "quoted" and row.enabled]


def waiting_plan(campaign: Campaign, rows: Sequence[CampaignRow], budget: Decimal | None) -> Plan:
    """Return what their approval would pay for, as a plan; `budget` instead of the campaign's."""
    lines = (
        PlanLine(
            row=row.row,
            title=row.title,
            action="remake" if row.take else "make",
            digest=row.digest,
            priced=row.quoted,
            state=row.state,
        )
        for row in rows
    )
    return Plan.of_rows(campaign, lines, budget)


async def approve_waiting(
    ledger: Ledger,
    campaign: Campaign,
    plan: Plan,
    *,
    run: str,
    by: str,
    owner: str | None,
    at: float,
) -> int:
    """Approve the rows of a plan as it shows them, or none; return how many were approved.

    Raises MovedOn when a row or the campaign changed since the plan was made, or `owner` (the run
    that has the campaign; None: not checked) lost it. Raises SpendRefused when the campaign was
    cancelled since, or the flow run `run` has already approved rows.
    """
    change = partial(_approve, campaign=campaign, plan=plan, run=run, by=by, owner=owner, at=at)
    return await ledger.write(change)


def _approve(
    connection: Connection,
    campaign: Campaign,
    plan: Plan,
    *,
    run: str,
    by: str,
    owner: str | None,
    at: float,
) -> int:
    check_unchanged(connection, campaign, owner=owner)
    check_wanted(connection, campaign)
    words = f"{in_credits(plan.total)}, {by}"
    approve_once(connection, campaign, run=run, rows=len(plan.lines), words=words, at=at)
    if plan.budget is not None:
        set_budget(connection, campaign, budget=plan.budget, at=at)
    wanted = {line.row for line in plan.lines}
    found = [row for row in priced_rows(connection, campaign.id) if row.row in wanted]
    if gone := sorted(wanted - {row.row for row in found}):
        raise changed_since([f"{row}: it no longer waits for approval" for row in gone])
    return approve(connection, as_shown(found, plan), by=by, at=at)
