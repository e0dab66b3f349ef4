"""Quotes: ask the service what rows would cost, several at a time; nothing is spent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from decimal import Decimal

from tasks.campaign.order import Plan
from tasks.credits import as_text
from tasks.engine.context import Context
from tasks.engine.lanes.price import ask_price, is_priced, record_price
from tasks.errors import SpendRefused
from tasks.ledger import AtLimit, CampaignRow, Quoted, Terms


async def quote_rows(
    at: Context, rows: Iterable[CampaignRow]
) -> dict[str, tuple[Decimal | None, str | None]]:
    """Quote rows that have no quote, or one that is too old, and record it; return all of them."""
    lanes = asyncio.Semaphore(at.settings.quotes)
    found: dict[str, tuple[Decimal | None, str | None]] = {}

    async def quote(row: CampaignRow) -> None:
        if is_priced(row, at):
            found[row.row] = (row.quoted, None)
            return
        async with lanes:
            amount, refusal = await ask_price(
                at.service, row.operation, row.asked(), row.max_credits, clock=at.clock
            )
        await record_price(at, Quoted(row, amount, refusal))
        found[row.row] = (amount, refusal)

    try:
        async with asyncio.TaskGroup() as group:
            for row in rows:
                group.create_task(quote(row))
    except ExceptionGroup as several:
        # The first is the cause; the others are the same trouble seen by other rows.
        raise several.exceptions[0] from several
    return found


def check_prices(rows: Iterable[CampaignRow], before: Mapping[str, CampaignRow]) -> None:
    """Raise SpendRefused, naming each, when rows were approved `before` and cost more by now."""
    risen = [row for row in rows if row.state == "quoted" and before[row.row].state == "approved"]
    if risen:
        raise SpendRefused(
            "prices have risen since they were approved; nothing was spent:\n  "
            + "\n  ".join(f"{row.row}: {row.reason}" for row in risen),
            remedy="look at the plan, then run again to approve the new prices "
            "(quote_tolerance lets them rise a little)",
        )


def check_readable(rows: Iterable[CampaignRow], terms: Terms, *, now: float) -> None:
    """Raise SpendRefused when a price cannot be read that a day, a run or a cost center limits."""
    for row in rows:
        limits = [a for a in terms.accounts(row, at=now) if a.budget is not None]
        if row.quoted is None and limits:
            raise SpendRefused(
                f"the price of {row.row} cannot be read, and {limits[0]} counts for it; "
                "nothing was spent",
                remedy="give a clip `max_credits`, which is then set aside for it, or leave the "
                "row out with --select",
            )


def check_budget(plan: Plan, at_limit: AtLimit | None = None) -> None:
    """Raise SpendRefused when the plan does not fit the budget, or a price cannot be read.

    With `at_limit` it need not fit as a whole: rows that do not are held when their turn comes.
    """
    if plan.budget is None or not plan.spending:
        return
    if plan.unpriced:
        raise SpendRefused(
            f"a budget is set and {plan.unpriced} rows have no readable price; nothing was spent",
            remedy="give a clip `max_credits`, which is then set aside for it; else run without a "
            "budget, or leave those rows out with --select",
        )
    if at_limit is None and plan.committed + plan.total > plan.budget:
        short = plan.committed + plan.total - plan.budget
        raise SpendRefused(
            f"the plan costs {as_text(plan.total)} credits, {as_text(plan.committed)} of the "
            f"budget of {as_text(plan.budget)} are spoken for: {as_text(short)} too many; "
            "nothing was spent",
            remedy=f"raise --budget to {as_text(plan.committed + plan.total)}, "
            "choose fewer rows with --select, or have it begin what fits with --at-limit",
        )
