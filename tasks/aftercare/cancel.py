"""Cancels rows of a campaign, also while another process works on it, and what a stopped run
leaves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.campaign.lease import leased
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.campaign.report_files import write_report
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.engine.context import Context, organisation_of
from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.engine.policy.decision import unwanted
from callsheet.tasks.engine.stop import NOT_YET
from callsheet.tasks.ledger.campaigns import Campaign, tally_of
from callsheet.tasks.ledger.cancel_requests import ask_to_cancel, is_paid, wake_stalled
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
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import count, in_credits

# Cancel rows of a campaign, whichever process is at work on it.
#
# What has not begun is cancelled in the ledger at once. What is under way is marked there: the run
# that is at work obeys within seconds; where none is, the rows are carried here, until each is
# cancelled, or turns out to be made.


log = logging.getLogger("callsheet.aftercare")

#: States in which there is anything to cancel.
LIVE = NOT_BEGUN | {"submitting", "rendering", "stalled", "held"}
#: How long another run is given to settle what was asked, and to obey where the service must
#: not be called; how long rows are carried here. In seconds.
PATIENCE, OBEYS, LIMIT = 60.0, 5.0, 600.0
TICK = 0.5

#: Why a row stays where it is, for people.
STAYS: Mapping[State, str] = {
    "submitting": NOT_YET,
    "rendering": "to be cancelled, but not yet: run this again, or the sheet",
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


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What became of one row: from where to where, what was released, and why."""

    row: str
    old: State
    new: State
    released: Decimal
    words: str


def needs_service(rows: Sequence[CampaignRow]) -> bool:
    """Whether rows, as they are after asking, wait for the service or another process."""
    return any(_waits(row) or row.state == "ready" for row in rows)


async def carry_out(at: Context, campaign: Campaign, only: Collection[str]) -> None:
    """Have what was asked done: by the run that is at work, else here.

    Returns when every row is settled, or will not be for now. Raises SpendRefused where the
    service is another than made them: what that does not know would be taken for gone.
    """
    check_same_money(campaign, sandbox=at.settings.sandbox)
    loop = asyncio.get_running_loop()
    until = loop.time() + PATIENCE
    while True:
        held = leased(at.ledger, campaign, clock=at.clock, lapse=at.settings.lease)
        async with AsyncExitStack() as holding:
            try:
                await holding.enter_async_context(held)
            except Parked as other:
                busy = other
            else:
                await _carry(at, campaign, only)
                return
        # Rows that fell back, a create refused for lack of credits say, are cancelled now.
        ask = partial(ask_to_cancel, campaign=campaign, only=only, at=at.clock())
        await at.ledger.write(ask)
        if not any(map(_waits, await _rows(at, campaign, only))):
            return
        left = until - loop.time()
        if left < 0 or (left < PATIENCE - OBEYS and await _is_shut(at, for_seconds=left)):
            log.warning("not all is cancelled yet: %s", busy)
            return
        await asyncio.sleep(TICK)


def endings(before: Sequence[CampaignRow], after: Sequence[CampaignRow]) -> list[Ending]:
    """Return what became of each row, in the order of `before`."""
    now = {row.id: row for row in after}
    return [_ending(row, now[row.id]) for row in before]


def exit_status(after: Sequence[CampaignRow], before: Sequence[CampaignRow]) -> int:
    """Return 5 when rows are to be settled by a later run, 3 when some need a person, else 0."""
    if any(row.state in ("submitting", "rendering", "ready", "approved") for row in after):
        return 5
    ended = {row.id for row in before if row.state in ("failed", "rejected")}
    return 3 if any(row.state in NEEDS_PERSON and row.id not in ended for row in after) else 0


async def _carry(at: Context, campaign: Campaign, only: Collection[str]) -> None:
    """Carry the rows that are marked, and videos that are there already, until each rests."""
    found = await _rows(at, campaign, only)
    if await at.ledger.write(partial(wake_stalled, found=found, at=at.clock())):
        found = await _rows(at, campaign, only)
    # A create of unknown outcome would have to be sent again: that is left to a run.
    rows = [row for row in found if row.state == "ready" or _is_rendering(row)]
    if rows:
        async with Engine(campaign, at, max_wait=LIMIT) as engine:
            await engine.carry(rows)
    try:
        await write_report(at, campaign)
    except CallsheetError as error:
        log.warning("the report in the store is not up to date: %s", error)


async def _is_shut(at: Context, *, for_seconds: float) -> bool:
    """Whether the service asked not to be called for longer than that."""
    gate = await at.ledger.read(partial(gate_of, organisation=organisation_of(at.settings)))
    return gate is not None and gate - at.clock() > for_seconds


def _is_rendering(row: CampaignRow) -> bool:
    return row.state == "rendering" and unwanted(row)


def _waits(row: CampaignRow) -> bool:
    """Whether a marked row is still to be settled; one with a reason has been left for later."""
    if not unwanted(row):
        return False
    if row.state == "submitting":
        return row.reason is None
    return row.state in ("rendering", "ready", "stalled")


async def _rows(at: Context, campaign: Campaign, only: Collection[str]) -> list[CampaignRow]:
    found = await at.ledger.read(partial(rows_of, campaign_id=campaign.id))
    return [row for row in found if row.row in only]


def _ending(old: CampaignRow, new: CampaignRow) -> Ending:
    released = Decimal(0)
    if old.take and new.take and old.take.id == new.take.id:
        settled = new.take.charged if new.take.charged is not None else Decimal(0)
        released = max(Decimal(0), old.take.reserved - new.take.reserved - settled)
    return Ending(
        row=old.row, old=old.state, new=new.state, released=released, words=_words(old, new)
    )


def _words(old: CampaignRow, new: CampaignRow) -> str:
    if new.state == "cancelled" and old.state != "cancelled":
        return new.reason or "cancelled"
    if new.state == "delivered" and old.state not in ("delivered", "planned", "approved"):
        return "its video was made already: delivered instead"
    if new.state == "delivered" and old.state != "delivered":
        return "the other take is not wanted any more: delivered as before"
    if new.state != old.state and new.reason:
        return new.reason
    if new.state == "held" and not is_paid(new):
        return new.reason or "held"
    return STAYS.get(new.state, new.reason or new.state)


# The rest of a run that somebody stopped before its end: cancelled where that was asked for, and
# said in words where it goes on without the run.


#: What a run would begin by itself, and what it has begun that can still be cancelled.
UNBEGUN: frozenset[State] = frozenset({"approved", "held"})
BEGUN: frozenset[State] = frozenset({"submitting", "rendering", "stalled"})


async def cancel_rest(run: Run, *, begun: bool) -> int:
    """Cancel what a run was to make and has not begun; return how many rows that was.

    With `begun` the takes that are under way are marked to be cancelled, too.
    """
    assert run.campaign is not None
    states = UNBEGUN | (BEGUN if begun else frozenset())
    names = {row.row for row in await run.rows() if row.state in states}
    ask = partial(ask_to_cancel, campaign=run.campaign, only=names, begun=begun)
    await run.at.ledger.write(partial(ask, at=run.at.clock()))
    return sum(row.state == "cancelled" for row in await run.named([*names]))


async def cancel_approved(run: Run) -> int | None:
    """Cancel what a run had approved before it began anything; None where that is nothing.

    What was approved before it, by another run, stays so.
    """
    if run.campaign is None:
        return None
    own = run.only or {row for row, state in run.before.items() if state != "approved"}
    change = partial(_cancel_approved, campaign=run.campaign, own=own, at=run.at.clock())
    return await run.at.ledger.write(change) or None


def _cancel_approved(
    connection: Connection, campaign: Campaign, own: Collection[str], *, at: float
) -> int:
    # Read in its turn of the writer: an approval that was under way is in the ledger by then.
    found = rows_of(connection, campaign.id)
    names = {row.row for row in found if row.state == "approved" and row.row in own}
    ask_to_cancel(connection, campaign, only=names, at=at, begun=False)
    return len(names)


async def words_of_rest(run: Run, cancelled: int | None = None) -> str:
    """Say what goes on of a run's campaign though the run does not, and what ends that.

    `cancelled` is how many rows were, where somebody asked for it.
    """
    if run.campaign is None:
        return "nothing was started"
    tally = await run.at.ledger.read(partial(tally_of, campaign=run.campaign))
    videos = sum(tally.rows.get(state, 0) for state in UNDER_WAY)
    said = [] if cancelled is None else [f"{count(cancelled, 'row')} not started will not be made"]
    if not videos:
        return "; ".join([*said, "no video is under way"])
    keep = f"{count(videos, 'video')} {'keeps' if videos == 1 else 'keep'} rendering"
    release = suggest("cancel", run.campaign.name)
    them = "it" if videos == 1 else "them"
    said.append(f"{keep}, {in_credits(tally.reserved)} reserved: `{release}` releases {them}")
    return "; ".join(said)
