"""Quotes: ask the service what rows would cost, several at a time; nothing is spent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection

from tasks.campaign.values import Plan
from tasks.credits import as_text, in_credits
from tasks.engine.context import Clock, Context
from tasks.engine.lanes.price import (
    TROUBLE,
    Price,
    Priceable,
    ask_price,
    before_spending,
    is_priced,
    record_price,
)
from tasks.engine.stop import answers
from tasks.errors import ServiceError, SpendRefused
from tasks.ledger import AtLimit, Campaign, CampaignRow, Quoted, Terms, end_cancel, move
from tasks.plural import count
from tasks.service import VideoService
from tasks.suggest import again_with

P = TypeVar("P", bound=Priceable)

#: How long the account's balance is waited for, in seconds.
BALANCE_WAIT = 5.0
#: So many rows in trouble and none with a price: it is the service, and the rest is not asked.
TROUBLED = 8


async def quote_rows(at: Context, rows: Sequence[CampaignRow]) -> dict[str, Price]:
    """Quote rows that have no quote, or one that is too old, and record it; return all of them.

    A row for which the service is in trouble is held.
    """
    known: dict[str, Price] = {row.row: Price(row.quoted) for row in rows if is_priced(row, at)}

    async def keep(row: CampaignRow, price: Price) -> None:
        await record_price(at, Quoted(row, price.amount, price.refusal))

    async def hold(row: CampaignRow, words: str) -> None:
        await at.ledger.write(partial(move, row=row, new="held", reason=words, at=at.clock()))

    unknown = [row for row in rows if row.row not in known]
    asked = await ask_prices(
        at.service, unknown, at_once=at.settings.quotes, clock=at.clock, keep=keep, hold=hold
    )
    return known | asked


async def ask_prices(
    service: VideoService,
    wanted: Iterable[P],
    *,
    at_once: int,
    clock: Clock,
    keep: Callable[[P, Price], Awaitable[None]] | None = None,
    hold: Callable[[P, str], Awaitable[None]] | None = None,
) -> dict[str, Price]:
    """Return what each row would cost, by its id; `keep` is given each price as it comes.

    Trouble with single requests is told in place of a price, and `hold` is given it. Raises
    ConfigurationError or Parked when the service cannot be asked at all.
    """
    slots = asyncio.Semaphore(at_once)
    prices: dict[str, Price] = {}
    troubled: list[tuple[P, ServiceError]] = []

    async def ask(one: P) -> None:
        try:
            async with slots:
                price = prices[one.row] = await ask_price(service, one)
        except ServiceError as error:
            alone = isinstance(error, TROUBLE) and (prices or len(troubled) < TROUBLED)
            if not alone:
                raise before_spending(error, clock()) from error
            troubled.append((one, error))
            return
        if keep is not None:
            await keep(one, price)

    try:
        async with asyncio.TaskGroup() as group:
            for one in wanted:
                group.create_task(ask(one))
    except ExceptionGroup as several:
        # The first is the cause; the others are the same trouble seen by other rows.
        raise several.exceptions[0] from several
    if troubled and not prices and not await answers(service):
        raise before_spending(troubled[0][1], clock()) from troubled[0][1]
    for one, error in troubled:
        words = f"it has no price, {str(error).rstrip('.')}: nothing was spent on it, run again"
        prices[one.row] = Price(None, words)
        if hold is not None:
            await hold(one, words)
    return prices


async def ask_balance(service: VideoService) -> Decimal | None:
    """Return the credits that can be spent now; None where the service does not say."""
    try:
        async with asyncio.timeout(BALANCE_WAIT):
            return await service.credits()
    except (ServiceError, TimeoutError):
        # Good to know, and needed for nothing: a create that is not covered is refused (402).
        return None


def check_prices(rows: Iterable[CampaignRow], before: Mapping[str, CampaignRow]) -> None:
    """Raise SpendRefused, naming each, when rows were approved `before` and cost more by now."""
    risen = [row for row in rows if row.state == "quoted" and before[row.row].state == "approved"]
    if risen:
        raise SpendRefused(
            "prices have risen since they were approved; nothing was spent:\n  "
            + "\n  ".join(f"{row.row}: {row.reason}" for row in risen),
            remedy=f"look at the new prices, then {again_with()} to approve them "
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
                f"row out with `--select '!{row.row}'`",
            )


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
            f"budget of {as_text(plan.budget)} for the campaign's whole life are spoken for: "
            f"{as_text(short)} too many; nothing was spent",
            remedy=again_with("--budget", f"{plan.committed + plan.total:f}")
            + ", or name fewer rows"
            + (f"; to begin what fits, {part}" if part else ""),
        )


def _without(plan: Plan) -> str:
    """Return the selection that leaves out the rows without a price."""
    return ",".join(f"!{line.row}" for line in plan.spending if line.priced is None)


def check_wanted(connection: Connection, campaign: Campaign) -> None:
    """Raise SpendRefused when somebody has cancelled the campaign since it was read."""
    if not end_cancel(connection, campaign):
        raise SpendRefused(
            f"campaign {campaign.name} was cancelled in the meantime; nothing was spent"
        )
