"""Proposes the plan of a verb: planned from the ledger, at the service's prices of now."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import Connection

from callsheet.tasks.campaign.approve import Verb, with_committed
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import asked_of
from callsheet.tasks.campaign.quotes import ask_prices, limits_of, terms_in
from callsheet.tasks.campaign.values import PAID, Plan, PlanLine
from callsheet.tasks.engine.free_calls import Price
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.diff import Action
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.present_rows import PresentRow, present_rows
from callsheet.tasks.ledger.quotes import too_dear
from callsheet.tasks.ledger.reviews import keep_rate
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from callsheet.tasks.runtime.errors import NotHere
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.service import VideoService

#: Opens the service for as long as it is asked.
OpenService = Callable[[], AbstractAsyncContextManager[VideoService]]


async def propose(
    verb: Verb,
    ask: RunOptions,
    ledger: Ledger,
    service: OpenService,
    *,
    settings: Settings,
    clock: UnixClock,
    make: bool = False,
    shown: Plan | None = None,
    within: float | None = None,
) -> Plan:
    """Return the plan of what was asked for at the prices of now, with the limits that settings
    give campaigns; write nothing.

    The service is opened where it is needed. What it has not answered after `within` seconds keeps
    the price of the plan that was `shown`. Raise what the planner does, ConfigurationError or
    Parked where the service cannot be asked.
    """

    def read(connection: Connection) -> tuple[Plan, list[CampaignRow]]:
        plan = verb.plan(connection, ask, make=make)
        unpriced = {line.row: line.action for line in plan.spending if line.priced is None}
        rows = rows_named(connection, plan.campaign, list(unpriced))
        # What has a video is edited, or gets a new one.
        return plan, [r if unpriced[r.row] == "edit" else r.for_new_video() for r in rows]

    plan, wanted = await ledger.read(read)
    # Whoever is asked may take hours, and prices that are too old are asked for again.
    plan = replace(plan, priced_at=clock())
    asked: dict[str, Price] = {}
    if wanted:
        at_once = settings.polls_at_once
        asking = partial(ask_prices, at_once=at_once, clock=clock, within=within)
        async with service() as opened:
            asked = await asking(opened, wanted)
    before = {} if shown is None else {line.row: Price(line.priced) for line in shown.spending}
    prices = {row.row: before.get(row.row) for row in wanted} | asked
    lines = (_at_price(line, prices.get(line.row)) for line in plan.lines)
    plan = replace(plan, lines=tuple(lines)).under(settings)
    terms = terms_in(settings)
    if not terms.has_limits:
        return plan
    paid = await ledger.read(_present, plan=plan)
    reading = partial(limits_of, ledger, terms, paid)
    return replace(plan, accounts=await reading(needed=plan.total, now=clock()))


def _present(connection: Connection, plan: Plan) -> list[PresentRow]:
    """Return the rows that a plan pays for."""
    found = find_campaign(connection, plan.campaign)
    names = plan.named(*PAID)
    if found is None:
        return []
    return list(present_rows(connection, found.id, names, locked=False).values())


def _at_price(line: PlanLine, price: Price | None) -> PlanLine:
    """Return a line at a price; one that is refused or above `max_credits` needs a person."""
    if price is None:
        return line
    line = line._replace(priced=price.amount, priced_for=price.seconds)
    refusal = price.refusal or too_dear(line, price.amount, instead=" and run that")
    return line._replace(action="person", why=refusal) if refusal else line


# What planners share.


def campaign_named(connection: Connection, name: str | None) -> Campaign:
    """Return the campaign of this name; raise NotHere for none."""
    found = find_campaign(connection, name or "")
    if found is None:
        raise NotHere(f'there is no campaign "{name}" in the ledger; nothing was spent')
    return found


def campaign_asked(connection: Connection, ask: RunOptions) -> Campaign:
    """Return the campaign that is asked about.

    Raise NotHere for none, SpendRefused where its videos are of the other kind of service.
    """
    found = campaign_named(connection, ask.campaign)
    check_same_money(found, sandbox=ask.sandbox)
    return found


def rows_named(connection: Connection, campaign: str, names: Iterable[str]) -> list[CampaignRow]:
    """Return rows of a campaign by their ids; none of a campaign that is not there."""
    found = find_campaign(connection, campaign)
    if found is None:
        return []
    pages = (rows_of(connection, found.id, named=page) for page in pages_of(names))
    return [row for page in pages for row in page]


def line_of(row: CampaignRow, action: Action, why: str | None = None, **more: Any) -> PlanLine:
    """Return the line of a row as the ledger has it; `more` are other members of it."""
    line = PlanLine(
        row=row.row,
        title=row.title,
        **asked_of(row),
        action=action,
        why=why,
        digest=row.digest,
        priced=row.quoted,
        state=row.state,
        max_credits=row.max_credits,
        line=row.line,
        nth=row.nth,
        take=row.take.number if row.take else 0,
    )
    return line._replace(**more)


def plan_of_rows(
    connection: Connection, campaign: Campaign, lines: Iterable[PlanLine], ask: RunOptions
) -> Plan:
    """Return a plan of rows as the ledger has them, with the budget that the campaign has."""
    plan = Plan(
        campaign=campaign.name,
        sheet=campaign.sheet or "",
        sheet_digest="",
        lines=tuple(lines),
        budget=campaign.budget,
        sandbox=ask.sandbox,
        because=ask.because,
        cancelled_at=campaign.cancel_requested_at,
        keep_rate=keep_rate(connection, campaign.id),
    )
    return with_committed(connection, campaign, plan)
