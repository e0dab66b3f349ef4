"""Cancels rows of a campaign, also while another process runs it, and the rest of a stopped run.

Rows that have not started are cancelled in the ledger immediately. Rows in progress are marked:
an active run cancels them within seconds. Without one, this process does, until each row is
cancelled or turns out to be finished.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import AsyncExitStack
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection

from callsheet.tasks.campaign.lease import leased
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.propose import campaign_named, line_of, plan_of_rows, rows_named
from callsheet.tasks.campaign.report_files import write_report
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.run_record import recorded, run_begins
from callsheet.tasks.campaign.selection import rows_asked
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.engine.context import Context, connect, organisation_of
from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.engine.policy.decision import unwanted
from callsheet.tasks.engine.stop import NOT_YET
from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.campaigns import Campaign, tally_of
from callsheet.tasks.ledger.cancel_requests import ask_to_cancel, is_paid, wake_stalled
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.plans import void_plan
from callsheet.tasks.ledger.runs import end_run, unbegun_run
from callsheet.tasks.ledger.service_state import gate_of
from callsheet.tasks.ledger.values import (
    NEEDS_PERSON,
    NOT_BEGUN,
    UNDER_WAY,
    CampaignRow,
    State,
    rows_of,
)
from callsheet.tasks.runtime.errors import CallsheetError, Parked
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import count, in_credits

log = logging.getLogger("callsheet.aftercare")


class Ending(NamedTuple):
    """What came of a row: its state before and now, the credits let go of, and why it is there.

    `waits` says that the service or another process has yet to settle it.
    """

    row: str
    was: State
    now: State
    released: Decimal
    why: str
    waits: bool


#: States that can be cancelled.
LIVE = NOT_BEGUN | {"submitting", "rendering", "stalled", "held"}
#: Seconds to wait for another run to cancel rows, to wait while the service must not be called,
#: and to process rows here.
PATIENCE, OBEYS, LIMIT = 60.0, 5.0, 600.0
TICK = 0.5

#: Why a row keeps its state.
STAYS: Mapping[State, str] = {
    "submitting": NOT_YET,
    "rendering": "not cancelled yet: run this command again, or the sheet",
    "ready": "its video is made and paid for: the next run delivers it",
    "held": "its video is made and paid for: the next run delivers it",
    "uncertain": "it may have been paid for: settle it with `callsheet resolve`",
    "stalled": "the service neither cancelled it nor has its video: run the sheet to look again",
    "delivered": "delivered before",
    "failed": "failed before: there is nothing to cancel",
    "rejected": "rejected before: there is nothing to cancel",
    "cancelled": "cancelled before",
    "retired": "left the sheet: there is nothing to cancel",
}


def plan_cancel(connection: Connection, ask: RunOptions) -> Plan:
    """Plan to cancel the rows that are asked for, else the whole campaign; write nothing.

    Raise NotHere for a campaign or row that is not there.
    """
    campaign = campaign_named(connection, ask.campaign)
    rows = rows_asked(connection, campaign, ask.rows, ask.select)
    return plan_of_rows(connection, campaign, map(_line, rows), ask)


def cancel(connection: Connection, ask: RunOptions, *, by: str, at: float) -> Plan:
    """Cancel what is asked for as it is by now, whatever was shown; return the plan of that.

    Rows that have not begun are cancelled, the takes of others marked for `finish`; of a whole
    campaign runs that were approved and have not begun, too.
    """
    # Nobody approves at the same time: a plan would else stand that this does not end.
    dialect_of(connection).hold_approvals(connection)
    campaign, only = campaign_named(connection, ask.campaign), None
    while ask.is_whole and (run := unbegun_run(connection, campaign.name)):
        assert run.plan_id is not None, "it was asked for with a plan"
        words = f"cancelled by {by} before its run began"
        void_plan(connection, run.plan_id, old="approved", words=words)
        end_run(connection, run.id, place=run.place, exit_status=4, words=words, at=at)
    if not ask.is_whole:
        only = {row.row for row in rows_asked(connection, campaign, ask.rows, ask.select)}
    before = ask_to_cancel(connection, campaign, only=only, at=at)
    plan = plan_of_rows(connection, campaign, map(_line, before), ask)
    live, words = len(plan.named("cancel")), "the rest" if ask.is_whole else "rows"
    about = partial(note_act, connection, act="cancel", campaign=campaign.name, rows=live)
    about(at=at, by=by, words=words)
    return plan


def _line(row: CampaignRow) -> PlanLine:
    """Return the line of a row, with what its take has set aside as its price."""
    reserved = row.take.reserved if row.take else Decimal(0)
    return line_of(row, "cancel" if row.state in LIVE else "none", priced=reserved)


async def finish(
    ledger: Ledger, settings: Settings, plan: Plan, *, clock: UnixClock = time.time
) -> list[Ending]:
    """Have what is marked cancelled; return what came of every line (`endings`).

    The service is opened only where rows wait for it.
    """
    found = await ledger.read(endings, plan=plan)
    if any(one.waits for one in found):
        campaign = await ledger.read(campaign_named, name=plan.campaign)
        async with recorded("cancel", settings) as record:
            async with connect(settings, clock=clock) as at:
                await execute(at, campaign, frozenset(line.row for line in plan.lines))
            found = await ledger.read(endings, plan=plan)
            record.ends(exit_status(found))
    return found


async def execute(at: Context, campaign: Campaign, only: Collection[str]) -> None:
    """Cancel the marked rows: by the active run, else here.

    Return when every row is settled or cannot be settled now. Raise SpendRefused if another
    service made the videos: they would look deleted to this one.
    """
    check_same_money(campaign, sandbox=at.settings.sandbox)
    loop = asyncio.get_running_loop()
    until = loop.time() + PATIENCE
    reading = partial(rows_named, campaign=campaign.name, names=only)
    while True:
        held = leased(at.ledger, campaign, clock=at.clock, lapse=at.settings.lease)
        async with AsyncExitStack() as holding:
            try:
                await holding.enter_async_context(held)
            except Parked as other:
                busy = other
            else:
                run_begins(at.ledger, at.settings, campaign.name)
                await _process(at, campaign, only)
                return
        # Rows that went back, for example after a refused create, are cancelled now.
        await at.ledger.write(ask_to_cancel, campaign=campaign, only=only, at=at.clock())
        if not any(map(_waits, await at.ledger.read(reading))):
            return
        left = until - loop.time()
        if left < 0 or (left < PATIENCE - OBEYS and await _is_shut(at, for_seconds=left)):
            log.warning("not everything is cancelled yet: %s", busy)
            return
        await asyncio.sleep(TICK)


def endings(connection: Connection, plan: Plan) -> list[Ending]:
    """Return what came of every line of a plan, as its row is now."""
    rows = rows_named(connection, plan.campaign, [line.row for line in plan.lines])
    now = {row.row: row for row in rows}
    return [_ending(line, now[line.row]) for line in plan.lines]


def released(found: Iterable[Ending]) -> Decimal:
    """Return the credits that were let go of."""
    return sum((one.released for one in found), Decimal(0))


def say_states(states: Iterable[str], freed: Decimal) -> str:
    """Say how many rows are in which state now, and what was let go of."""
    words = ", ".join(f"{number} {state}" for state, number in Counter(states).items())
    return f"{words or 'nothing to cancel'}; {in_credits(freed)} released"


def exit_status(found: Iterable[Ending]) -> int:
    """Return 5 if a later run must settle rows, 3 if some need attention, else 0."""
    states = {(one.was, one.now) for one in found}
    if any(now in ("submitting", "rendering", "ready", "approved") for _, now in states):
        return 5
    needs = {was for was, now in states if now in NEEDS_PERSON}
    return 3 if needs - {"failed", "rejected"} else 0


async def _process(at: Context, campaign: Campaign, only: Collection[str]) -> None:
    """Process the marked rows, and finished videos, until each is settled."""
    reading = partial(rows_named, campaign=campaign.name, names=only)
    found = await at.ledger.read(reading)
    if await at.ledger.write(wake_stalled, found=found, at=at.clock()):
        found = await at.ledger.read(reading)
    # A create with an unknown outcome would be sent again, which only a run may do.
    rows = [row for row in found if row.state == "ready" or _is_rendering(row)]
    if rows:
        async with Engine(campaign, at, max_wait=LIMIT) as engine:
            await engine.process(rows)
    try:
        await write_report(at, campaign)
    except CallsheetError as error:
        log.warning("the report in the store is not up to date: %s", error)


async def _is_shut(at: Context, *, for_seconds: float) -> bool:
    """Return whether the service asked for a longer pause than that."""
    gate = await at.ledger.read(gate_of, organisation=organisation_of(at.settings))
    return gate is not None and gate - at.clock() > for_seconds


def _is_rendering(row: CampaignRow) -> bool:
    return row.state == "rendering" and unwanted(row)


def _waits(row: CampaignRow) -> bool:
    """Return whether a marked row is not settled; one with a reason is left for later."""
    if not unwanted(row):
        return False
    if row.state == "submitting":
        return row.reason is None
    return row.state in ("rendering", "ready", "stalled")


def _ending(line: PlanLine, now: CampaignRow) -> Ending:
    assert line.state is not None
    freed = Decimal(0)
    if now.take and now.take.number == line.take:
        settled = now.take.reserved + (now.take.charged or Decimal(0))
        freed = max(freed, (line.priced or Decimal(0)) - settled)
    waits = _waits(now) or now.state == "ready"
    return Ending(line.row, line.state, now.state, freed, _words(line.state, now), waits)


def _words(old: State, new: CampaignRow) -> str:
    if new.state == "cancelled" and old != "cancelled":
        return new.reason or "cancelled"
    if new.state == "delivered" and old not in {"delivered", "held", *NOT_BEGUN}:
        return "its video was already made: delivered instead"
    if new.state == "delivered" and old != "delivered":
        return "the retake was cancelled: delivered as before"
    if new.state != old and new.reason:
        return new.reason
    if new.state == "held" and not is_paid(new):
        return new.reason or "held"
    return STAYS.get(new.state, new.reason or new.state)


# The rest of a stopped run: cancelled if requested, else described if it continues by itself.


#: States that a run would start by itself, and states in progress that can be cancelled.
UNBEGUN: frozenset[State] = frozenset({"approved", "held"})
BEGUN: frozenset[State] = frozenset({"submitting", "rendering", "stalled"})


async def cancel_rest(run: Run, *, begun: bool) -> int:
    """Cancel the rows that a run has not started; return how many.

    With `begun`, mark the takes in progress for cancellation too.
    """
    assert run.campaign is not None
    states = UNBEGUN | (BEGUN if begun else frozenset())
    names = {row.row for row in await run.rows() if row.state in states}
    ask = partial(ask_to_cancel, campaign=run.campaign, only=names, begun=begun)
    await run.at.ledger.write(ask, at=run.at.clock())
    return sum(row.state == "cancelled" for row in await run.named([*names]))


async def cancel_approved(run: Run) -> int | None:
    """Cancel the approvals of a run that has started nothing; None if there are none.

    Approvals of earlier runs stay.
    """
    if run.campaign is None:
        return None
    planned = run.plan.spending if run.plan else []
    own = run.only or {line.row for line in planned if line.state != "approved"}
    return (
        await run.at.ledger.write(
            _cancel_approved, campaign=run.campaign, own=own, at=run.at.clock()
        )
        or None
    )


def _cancel_approved(
    connection: Connection, campaign: Campaign, own: Collection[str], *, at: float
) -> int:
    # Read inside the write transaction, so that a concurrent approval is already stored.
    found = rows_of(connection, campaign.id)
    names = {row.row for row in found if row.state == "approved" and row.row in own}
    ask_to_cancel(connection, campaign, only=names, at=at, begun=False)
    return len(names)


async def words_of_rest(run: Run, cancelled: int | None = None) -> str:
    """Return what continues after a run was stopped, and how to end that.

    `cancelled` is the number of cancelled rows, if requested.
    """
    if run.campaign is None:
        return "nothing was started"
    tally = await run.at.ledger.read(tally_of, campaign=run.campaign)
    videos = sum(tally.rows.get(state, 0) for state in UNDER_WAY)
    said = [] if cancelled is None else [f"{count(cancelled, 'row')} not started will not be made"]
    if not videos:
        return "; ".join([*said, "no video is in progress"])
    keep = f"{count(videos, 'video')} {'keeps' if videos == 1 else 'keep'} rendering"
    release = suggest("cancel", run.campaign.name)
    them = "it" if videos == 1 else "them"
    said.append(f"{keep}, {in_credits(tally.reserved)} reserved: `{release}` releases {them}")
    return "; ".join(said)
