"""The plan of a sheet with its prices: what `callsheet plan` shows, and the board has approved.

Writes nothing to the ledger and spends nothing.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

from callsheet.tasks.campaign.catalogue import compared
from callsheet.tasks.campaign.match import Match, match_sheet, name_campaign
from callsheet.tasks.campaign.plan import plan_sheet, priced
from callsheet.tasks.campaign.prices import Tell, ask_prices
from callsheet.tasks.campaign.quote import ask_balance
from callsheet.tasks.campaign.values import Plan, RunOptions
from callsheet.tasks.clock import UnixClock
from callsheet.tasks.engine.context import open_service
from callsheet.tasks.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.database import ledger_file, ledger_url
from callsheet.tasks.settings import Settings
from callsheet.tasks.sheet import Sheet, SheetOptions, read_sheet


class PricedPlan(NamedTuple):
    """A sheet under its campaign's name, what would happen to its rows, and what forbids it."""

    sheet: Sheet
    plan: Plan
    match: Match


async def plan_from(
    address: str,
    reading: SheetOptions,
    options: RunOptions,
    settings: Settings,
    *,
    tell: Tell | None = None,
) -> PricedPlan:
    """Read a sheet and return its plan with prices: `plan_with_prices`.

    It makes nothing, not even an empty ledger. Raises SheetError with every problem.
    """
    sheet = await read_sheet(address, reading)
    file = ledger_file(ledger_url(settings.ledger))
    if file is not None and not file.exists():
        return await plan_with_prices(None, sheet, options, settings, tell=tell)
    async with await open_ledger(settings.ledger, create=False) as ledger:
        return await plan_with_prices(ledger, sheet, options, settings, tell=tell)


async def plan_unpriced(
    ledger: Ledger | None, sheet: Sheet, options: RunOptions, settings: Settings
) -> PricedPlan:
    """Return the plan with those prices that the ledger has; asks no service."""
    if ledger is not None:
        sheet = await name_campaign(ledger, sheet, options)
    match = await match_sheet(ledger, sheet, options, settings)
    return PricedPlan(sheet, await plan_sheet(ledger, sheet, options), match)


async def plan_with_prices(
    ledger: Ledger | None,
    sheet: Sheet,
    options: RunOptions,
    settings: Settings,
    *,
    clock: UnixClock = time.time,
    tell: Tell | None = None,
) -> PricedPlan:
    """Return the plan, all that it spends at the service's prices of now; `tell` hears how far.

    Raises SheetError for a row that names what the service does not offer, ConfigurationError or
    Parked when the service cannot be asked.
    """
    sheet, plan, match = await plan_unpriced(ledger, sheet, options, settings)
    if not plan.spending:
        return PricedPlan(sheet, plan, match)
    async with await open_service(settings, ledger, clock) as service:
        wanted = {line.row for line in plan.spending}
        sheet = await compared(sheet, wanted, settings, ledger=ledger, service=service, clock=clock)
        briefs = [brief for brief in sheet.briefs if brief.row in wanted]
        prices = await ask_prices(service, briefs, at_once=settings.quotes, clock=clock, tell=tell)
        plan = replace(priced(plan, prices), balance=await ask_balance(service))
        return PricedPlan(sheet, plan, match)
