"""Quotes: ask the service what rows would cost, several at a time; nothing is spent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

from tasks.brief import CREATE, Json
from tasks.campaign.order import Plan
from tasks.credits import as_text
from tasks.engine.context import Connections
from tasks.engine.lanes.failures import news_of_read
from tasks.engine.policy.observations import Seen
from tasks.errors import (
    BadRequest,
    CallsheetError,
    ConfigurationError,
    Conflict,
    NotFound,
    OtherRefusal,
    OutcomeUnknown,
    Parked,
    RateLimited,
    ServerTrouble,
    ServiceError,
    ShapeError,
    SpendRefused,
)
from tasks.ledger import AtLimit, Quoted, Terms, record_quote, renew_quote
from tasks.ledger.values import CampaignRow
from tasks.service import VideoService

#: When to come back to a service in trouble that names no moment, in seconds.
LATER = 300.0


def before_spending(error: ServiceError, now: float) -> CallsheetError:
    """Return a failure to quote as what it means to a run that has not spent anything yet.

    Waiting helps where the service is there and busy or in trouble; else a setting is wrong.
    """
    words = f"{str(error).rstrip('.')}; nothing was spent"
    if isinstance(error, RateLimited | ServerTrouble | OutcomeUnknown | ShapeError):
        later = datetime.fromtimestamp(now + LATER, UTC)
        return Parked(words, until=error.retry_at or later, remedy=error.remedy)
    return ConfigurationError(words, remedy=error.remedy)


async def ask_price(
    service: VideoService, operation: str, request: Mapping[str, Json], limit: Decimal | None
) -> tuple[Decimal | None, str | None]:
    """Return what a request would cost, and the service's words when it refuses the brief.

    An amount of None without words means that the service gave none that can be read. A clip is
    not quoted by the service (specification, section 4): what counts is the row's own `limit`,
    its `max_credits`. Raises ConfigurationError or Parked when the service cannot be asked at all.
    """
    try:
        return await _ask(service, operation, request, limit)
    except ServiceError as error:
        raise before_spending(error, time.time()) from error


async def _ask(
    service: VideoService, operation: str, request: Mapping[str, Json], limit: Decimal | None
) -> tuple[Decimal | None, str | None]:
    if operation != CREATE:
        return limit, None
    try:
        return (await service.estimate(request)).amount, None
    except BadRequest as error:
        return None, str(error)
    except (NotFound, Conflict, OtherRefusal):
        # A service without quotes: the price is unknown, which a budget will not accept.
        return None, None


async def quote_rows(
    at: Connections, rows: Iterable[CampaignRow]
) -> dict[str, tuple[Decimal | None, str | None]]:
    """Quote rows that have no quote, or one that is too old, and record it; return all of them."""
    lanes = asyncio.Semaphore(at.settings.quotes)
    found: dict[str, tuple[Decimal | None, str | None]] = {}

    async def quote(row: CampaignRow) -> None:
        if holds(row, at):
            found[row.row] = (row.quoted, None)
            return
        async with lanes:
            amount, refusal = await ask_price(
                at.service, row.operation, row.asked(), row.max_credits
            )
        await _record(at, Quoted(row, amount, refusal))
        found[row.row] = (amount, refusal)

    try:
        async with asyncio.TaskGroup() as group:
            for row in rows:
                group.create_task(quote(row))
    except ExceptionGroup as several:
        # The first is the cause; the others are the same trouble seen by other rows.
        raise several.exceptions[0] from several
    return found


def holds(row: CampaignRow, at: Connections) -> bool:
    """Whether a row's quote is there and young enough."""
    young = row.quoted_at is not None and at.clock() - row.quoted_at < at.settings.quote_age
    return row.state in ("quoted", "approved") and young


async def fresh_price(row: CampaignRow, at: Connections) -> CampaignRow | Seen | None:
    """Return an approved row at a price that holds, asked again where its quote is too old.

    Returns None when it is not approved any more, since it costs more than was agreed to; and
    what was seen instead of a price, when the service cannot be asked.
    """
    if holds(row, at):
        return row
    try:
        amount, refusal = await _ask(at.service, row.operation, row.asked(), row.max_credits)
    except ServiceError as error:
        return news_of_read(error)
    now = at.clock()
    if not await _record(at, Quoted(row, amount, refusal)):
        return None
    agreed = row.quoted if row.approved is None else row.approved
    return replace(row, quoted=amount, quoted_at=now, approved=agreed)


async def _record(at: Connections, quoted: Quoted) -> bool:
    """Record a quote; return whether an approved row is still approved."""
    now = at.clock()
    if quoted.row.state != "approved":
        await at.ledger.write(partial(record_quote, quoted=quoted, at=now))
        return False
    tolerance = at.settings.quote_tolerance
    return await at.ledger.write(partial(renew_quote, quoted=quoted, tolerance=tolerance, at=now))


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
