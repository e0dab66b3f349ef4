"""What waits for an approval: rows that a run has priced and nobody has said yes to.

They are approved from the ledger alone, at the prices they were shown with; the sheet need not be
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from tasks.aftercare.begun import approve_once
from tasks.campaign.quote import check_wanted
from tasks.campaign.values import Plan, PlanLine
from tasks.credits import in_credits
from tasks.ledger import (
    Campaign,
    CampaignRow,
    Ledger,
    approve,
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
    ledger: Ledger, campaign: Campaign, plan: Plan, *, run: str, by: str, at: float
) -> int:
    """Approve the rows of a plan at the prices it has; return how many that were.

    A row whose price has moved since stays as it is. Raises SpendRefused where the campaign was
    cancelled meanwhile, or the flow run of the id `run` has approved before.
    """
    change = partial(_approve, campaign=campaign, plan=plan, run=run, by=by, at=at)
    return await ledger.write(change)


def _approve(
    connection: Connection, campaign: Campaign, plan: Plan, *, run: str, by: str, at: float
) -> int:
    check_wanted(connection, campaign)
    words = f"{in_credits(plan.total)}, {by}"
    approve_once(connection, campaign, run=run, rows=len(plan.lines), words=words, at=at)
    if plan.budget is not None:
        set_budget(connection, campaign, budget=plan.budget, at=at)
    prices = {line.row: line.priced for line in plan.lines}
    found = [
        row
        for row in priced_rows(connection, campaign.id)
        if row.state == "quoted" and row.row in prices and row.quoted == prices[row.row]
    ]
    return approve(connection, found, by=by, at=at)
