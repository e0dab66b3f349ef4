"""Stored plans.

Made from a sheet with prices, compared with what is true now, replaced when it changes.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection

from callsheet.tasks.campaign.adoption import as_found, needs_search, with_videos
from callsheet.tasks.campaign.catalog import compared
from callsheet.tasks.campaign.match import Match, match_sheet, name_campaign
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import as_planned, at_price, plan_sheet, priced
from callsheet.tasks.campaign.plan_document import plan_document
from callsheet.tasks.campaign.quotes import Tell, ask_balance, ask_prices, limits_of, terms_in
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.campaign.waits import hold_back, waiting_lines
from callsheet.tasks.engine.context import open_service
from callsheet.tasks.engine.free_calls import Price
from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.board_settings import in_force
from callsheet.tasks.ledger.database import ledger_file, ledger_url
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.plans import KeptPlan, begin_plan, find_plan, void_plan
from callsheet.tasks.runtime.errors import SpendRefused, grouped
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.service import VideoService
from callsheet.tasks.sheet import Sheet, read_sheet
from callsheet.tasks.values.briefs import CREATE


def run_document(found: PricedPlan) -> dict[str, Any]:
    """Return what a plan of a sheet says: as `plan --json`, and what the page shows next to it."""
    refusal = found.match.refusal
    return {
        **plan_document(found.plan),
        "advice": grouped(found.sheet.advice),
        "notes": [str(one) for one in found.sheet.notes],
        "refusal": None if refusal is None else str(refusal),
        "remedy": None if refusal is None else refusal.remedy,
    }


def with_known_prices(shown: Plan, now: Plan, asked: Mapping[str, Price]) -> Plan:
    """Return a plan at the prices just asked for, else at those that were shown.

    What was shown to take over a video does so again.
    """
    known = {line.row: line.priced for line in shown.lines}

    def put_in(line: PlanLine) -> PlanLine:
        if not line.spends:
            return line
        return at_price(line, asked.get(line.row) or Price(known.get(line.row)))

    now = as_found(shown, now)
    return hold_back(replace(now, lines=tuple(map(put_in, now.lines))), choose=True)


def unquoted_rows(plan: Plan, *, accepts_limits: bool) -> list[str]:
    """Return the rows that a plan pays for without a price of the service, by id.

    For clips, and edits with `max_credits`, it has the limit of the sheet instead, which a person
    reads and accepts. An agent may have written the sheet: with its limits, it would set the price.
    """

    def is_quoted(line: PlanLine) -> bool:
        limited = line.edit_of is not None and line.max_credits is not None
        created = line.operation == CREATE
        return line.priced is not None and (accepts_limits or (created and not limited))

    return [line.row for line in plan.spending if not is_quoted(line)]


# The plan of a sheet with its prices: what `callsheet plan` shows, and the board has approved.
#
# Writes nothing to the ledger and spends nothing.


class PricedPlan(NamedTuple):
    """A sheet under its campaign's name, what would happen to its rows, and what forbids it."""

    sheet: Sheet
    plan: Plan
    match: Match


#: Makes the plan of a sheet; without a ledger every row is new.
MakePlan = Callable[[Ledger | None, Sheet, RunOptions, Settings], Awaitable[PricedPlan]]


async def plan_from(options: RunOptions, settings: Settings, make: MakePlan) -> PricedPlan:
    """Read a sheet and return its plan: `make` is `plan_with_prices`, or `plan_unpriced`.

    It makes nothing, not even an empty ledger. Raises SheetError with every problem.
    """
    async with AsyncExitStack() as stack:
        ledger: Ledger | None = None
        file = ledger_file(ledger_url(settings.ledger))
        if file is None or file.exists():
            opened = await open_ledger(settings.ledger, create=False)
            ledger = await stack.enter_async_context(opened)
            settings = await ledger.read(in_force, settings=settings)
        sheet = await read_sheet(options.sheet, options.reading(settings))
        return await make(ledger, sheet, options, settings)


async def plan_unpriced(
    ledger: Ledger | None, sheet: Sheet, options: RunOptions, settings: Settings
) -> PricedPlan:
    """Return the plan with those prices that the ledger has; asks no service."""
    if ledger is not None:
        sheet = await name_campaign(ledger, sheet, options)
    match = await match_sheet(ledger, sheet, options, settings)
    plan = await plan_sheet(ledger, sheet, options)
    return PricedPlan(sheet, plan.under(settings), match)


async def plan_with_prices(
    ledger: Ledger | None,
    sheet: Sheet,
    options: RunOptions,
    settings: Settings,
    *,
    clock: UnixClock = time.time,
    tell: Tell | None = None,
) -> PricedPlan:
    """Return the plan, all that it spends at the service's prices of now; `tell` is told how far.

    Raises SheetError for a row that names what the service does not offer, ConfigurationError or
    Parked when the service cannot be asked.
    """
    sheet, plan, match = await plan_unpriced(ledger, sheet, options, settings)
    if not plan.spending and not needs_search(plan):
        return PricedPlan(sheet, plan, match)

    async with await open_service(settings, ledger, clock) as service:

        async def ask(sheet: Sheet, lines: Sequence[PlanLine]) -> Mapping[str, Price]:
            asking = partial(ask_prices, at_once=settings.polls_at_once, clock=clock, tell=tell)
            return await asking(service, as_planned(sheet.briefs, lines))

        price = partial(price_plan, ask=ask, settings=settings, ledger=ledger, clock=clock)
        sheet, plan = await price(sheet, plan, service=service)
    rows = as_planned(sheet.briefs, plan.spending)
    reading = partial(limits_of, ledger, terms_in(settings), rows)
    accounts = await reading(needed=plan.total, now=clock())
    return PricedPlan(sheet, replace(plan, accounts=accounts), match)


#: Returns what lines of a plan cost, by the ids of their rows.
AskLines = Callable[[Sheet, Sequence[PlanLine]], Awaitable[Mapping[str, Price]]]


async def price_plan(
    sheet: Sheet,
    plan: Plan,
    *,
    ask: AskLines,
    settings: Settings,
    ledger: Ledger | None,
    service: VideoService,
    clock: UnixClock,
) -> tuple[Sheet, Plan]:
    """Return a plan with the videos that it takes over, its prices, and what the account holds.

    The sheet has what is found in it that the service does not offer. Raises SheetError for a row
    that would be paid for without it, ConfigurationError or Parked when the service cannot be
    asked.
    """
    if needs_search(plan):
        find = partial(with_videos, service=service, ledger=ledger, clock=clock)
        sheet, plan = await find(sheet, plan, at_once=settings.polls_at_once)
    wanted = {line.row for line in plan.spending}
    sheet = await compared(sheet, wanted, settings, ledger=ledger, service=service, clock=clock)
    # A row that was edited while it waits for a first video has no price any more.
    later = [line for line in waiting_lines(plan) if line.priced is None]
    prices = await ask(sheet, [*plan.spending, *later]) if wanted or later else {}
    # The canary is the cheapest row of its kind, which takes prices.
    plan = hold_back(priced(plan, prices), choose=True) if prices else plan
    balance = await ask_balance(service) if plan.spending else None
    return sheet, replace(plan, balance=balance)


# Changes of the ledger that are about plans of the board, each one transaction: begun, replaced.
#
# Nothing here spends; approving is in `tasks.aftercare.approval`.


def ask_plan(
    connection: Connection, /, plan_id: str, *, campaign: str, by: str, at: float, **how: Any
) -> None:
    """Begin a plan that someone asked for, as `begin_plan` does, and note that they did."""
    begin_plan(connection, plan_id, campaign=campaign, by=by, at=at, **how)
    note_act(connection, act="plan", by=by, at=at, campaign=campaign, words=f"plan {plan_id}")


def replace_plan(
    connection: Connection,
    /,
    old: KeptPlan,
    plan_id: str,
    *,
    words: str,
    sheet_id: str | None = None,
    **how: Any,
) -> str:
    """Begin a plan in the place of one that no longer holds; return the id of the one that has it.

    Of two who do so at once the second is given what the first one began.
    """
    same: dict[str, Any] = {
        "kind": old.kind,
        "campaign": old.campaign,
        "sheet_id": sheet_id or old.sheet_id,
    }
    begin_plan(connection, plan_id, **same, **how)
    if void_plan(connection, old.id, old=old.state, words=words, replaced_by=plan_id):
        return plan_id
    now = find_plan(connection, old.id)
    void_plan(connection, plan_id, old="quoting", words="a newer plan replaced it")
    return now.replaced_by or old.id if now is not None else plan_id


def check_stands(plan: KeptPlan | None) -> None:
    """Raise SpendRefused when a plan was taken back after it was approved."""
    if plan is None or plan.state != "approved":
        why = plan.words if plan and plan.words else "it was withdrawn"
        raise SpendRefused(f"the plan is no longer valid: {why}; nothing was spent")
