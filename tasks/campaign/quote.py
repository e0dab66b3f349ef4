"""Quotes: what the rows of a campaign cost is recorded, and held against what may be spent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.campaign.prices import Tell, ask_prices
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.credits import as_text, in_credits
from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.lanes.price import Price, is_priced
from callsheet.tasks.errors import ServiceError, SpendRefused
from callsheet.tasks.ledger import (
    AtLimit,
    Campaign,
    CampaignRow,
    PricedRow,
    Quoted,
    State,
    Terms,
    changed_since,
    end_cancel,
    hold_unpaid,
    record_quotes,
)
from callsheet.tasks.plural import count
from callsheet.tasks.service import VideoService
from callsheet.tasks.suggest import again_with

#: How long the account's balance is waited for, in seconds.
BALANCE_WAIT = 5.0


async def quote_rows(
    at: Context, rows: Sequence[CampaignRow], tell: Tell | None = None
) -> dict[str, Price]:
    """Quote rows that have no quote, or one that is too old, and record it; return all of them.

    A row for which the service is in trouble is held. `tell` hears how far it is.
    """
    known: dict[str, Price] = {row.row: Price(row.quoted) for row in rows if is_priced(row, at)}

    async def keep(found: Sequence[tuple[CampaignRow, Price]]) -> None:
        quotes = [Quoted(row, price.amount, price.refusal) for row, price in found]
        tolerance = at.settings.quote_tolerance
        change = partial(record_quotes, found=quotes, tolerance=tolerance, at=at.clock())
        await at.ledger.write(change)

    async def hold(row: CampaignRow, words: str) -> None:
        await at.ledger.write(partial(hold_unpaid, row=row, why=words, at=at.clock()))

    unknown = [row for row in rows if row.row not in known]
    asked = await ask_prices(
        at.service,
        unknown,
        at_once=at.settings.quotes,
        clock=at.clock,
        keep=keep,
        hold=hold,
        tell=tell,
    )
    return known | asked


async def ask_balance(service: VideoService) -> Decimal | None:
    """Return the credits that can be spent now; None where the service does not say."""
    try:
        async with asyncio.timeout(BALANCE_WAIT):
            return await service.credits()
    except (ServiceError, TimeoutError):
        # Good to know, and needed for nothing: a create that is not covered is refused (402).
        return None


def check_prices(rows: Iterable[PricedRow], before: Mapping[str, State]) -> None:
    """Raise SpendRefused, naming each, when rows were approved `before` and cost more by now."""
    risen = [row for row in rows if row.state == "quoted" and before[row.row] == "approved"]
    if risen:
        raise SpendRefused(
            "prices rose since you approved them; nothing was spent:\n  "
            + "\n  ".join(f"{row.row}: {row.reason}" for row in risen),
            remedy=f"check the new prices, then {again_with()} to approve them "
            "(quote_tolerance lets them rise a little)",
        )


def check_readable(rows: Iterable[PricedRow], terms: Terms, *, now: float) -> None:
    """Raise SpendRefused when a price cannot be read that a day, a run or a cost center limits."""
    for row in rows:
        limits = [a for a in terms.accounts(row, at=now) if a.budget is not None]
        if row.quoted is None and limits:
            raise SpendRefused(
                f"the price of {row.row} cannot be read, and {limits[0]} counts for it; "
                "nothing was spent",
                remedy="give a clip `max_credits`, which is then set aside for it, or leave the "
                f"row out with `--select '!{row.row}'`",
            )


def as_shown(waiting: Iterable[PricedRow], plan: Plan) -> list[PricedRow]:
    """Return rows that wait for approval with the brief and the price that the plan shows.

    Raises MovedOn when the plan does not show one of them.
    """
    lines = {line.row: line for line in plan.spending}
    found = list(waiting)
    if new := [f"{row.row}: not in the plan" for row in found if row.row not in lines]:
        raise changed_since(new)
    shown = ((row, lines[row.row]) for row in found)
    return [row._replace(digest=line.digest, quoted=line.priced) for row, line in shown]


def check_budget(plan: Plan, at_limit: AtLimit | None = None, *, part: str | None = None) -> None:
    """Raise SpendRefused when the plan does not fit the budget, or a price cannot be read.

    With `at_limit` it need not fit as a whole: rows that do not are held when their turn comes.
    `part` says what begins the part that fits, where anything does.
    """
    if plan.budget is None or not plan.spending:
        return
    if plan.unpriced:
        without = count(plan.unpriced, "row has", "rows have")
        raise SpendRefused(
            f"a budget is set and {without} no readable price; nothing was spent",
            remedy="give a clip `max_credits`, which is then set aside for it; else run without a "
            f"budget, or leave them out with `--select '{_without(plan)}'`",
        )
    if at_limit is None and plan.committed + plan.total > plan.budget:
        short = plan.committed + plan.total - plan.budget
        raise SpendRefused(
            f"the plan costs {in_credits(plan.total)}, {as_text(plan.committed)} of the "
            f"budget of {as_text(plan.budget)} for the campaign are reserved or charged: "
            f"{as_text(short)} too many; nothing was spent",
            remedy=again_with("--budget", f"{plan.committed + plan.total:f}")
            + ", or name fewer rows"
            + (f"; to begin what fits, {part}" if part else ""),
        )


def shortage(plan: Plan, at_limit: AtLimit | None = None) -> SpendRefused | None:
    """Return what keeps a plan from fitting its budget: what `check_budget` raises, if anything."""
    try:
        check_budget(plan, at_limit)
    except SpendRefused as refusal:
        return refusal
    return None


def is_within(plan: Plan, at_most: Decimal | None) -> bool:
    """Whether all of a plan may be paid for: at most so many credits, and no price is unknown."""
    return at_most is not None and not plan.unpriced and plan.total <= at_most


def _without(plan: Plan) -> str:
    """Return the selection that leaves out the rows without a price."""
    return ",".join(f"!{line.row}" for line in plan.spending if line.priced is None)


def check_wanted(connection: Connection, campaign: Campaign) -> None:
    """Raise SpendRefused when somebody has cancelled the campaign since it was read."""
    if not end_cancel(connection, campaign):
        raise SpendRefused(f"campaign {campaign.name} was cancelled meanwhile; nothing was spent")
