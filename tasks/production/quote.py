"""Quotes: ask the service what rows would cost, several at a time; nothing is spent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

from tasks.brief import CREATE, Json
from tasks.credits import as_text
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
from tasks.ledger import Ledger, Quoted, record_quote
from tasks.ledger.values import CampaignRow
from tasks.production.connections import Connections
from tasks.production.order import Plan
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
    if operation != CREATE:
        return limit, None
    try:
        return (await service.estimate(request)).amount, None
    except BadRequest as error:
        return None, str(error)
    except (NotFound, Conflict, OtherRefusal):
        # A service without quotes: the price is unknown, which a budget will not accept.
        return None, None
    except ServiceError as error:
        raise before_spending(error, time.time()) from error


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
        await _record(at.ledger, Quoted(row, amount, refusal), at.clock())
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
    if row.state == "approved":
        return True
    young = row.quoted_at is not None and at.clock() - row.quoted_at < at.settings.quote_age
    return row.state == "quoted" and young


async def _record(ledger: Ledger, quoted: Quoted, now: float) -> None:
    await ledger.write(partial(record_quote, quoted=quoted, at=now))


def check_budget(plan: Plan) -> None:
    """Raise SpendRefused when the plan does not fit the budget, or a price cannot be read."""
    if plan.budget is None or not plan.spending:
        return
    if plan.unpriced:
        raise SpendRefused(
            f"a budget is set and {plan.unpriced} rows have no readable price; nothing was spent",
            remedy="give a clip `max_credits`, which is then set aside for it; else run without a "
            "budget, or leave those rows out with --select",
        )
    if plan.committed + plan.total > plan.budget:
        short = plan.committed + plan.total - plan.budget
        raise SpendRefused(
            f"the plan costs {as_text(plan.total)} credits, {as_text(plan.committed)} of the "
            f"budget of {as_text(plan.budget)} are spoken for: {as_text(short)} too many; "
            "nothing was spent",
            remedy=f"raise --budget to {as_text(plan.committed + plan.total)}, "
            "or choose fewer rows with --select",
        )
