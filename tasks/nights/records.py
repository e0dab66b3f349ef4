"""What the ledger records of a sheet in a nightly run, and pauses that people set."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection

from callsheet.tasks.campaign.match import is_other_money
from callsheet.tasks.campaign.report import exit_status
from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign, last_event, tally_of
from callsheet.tasks.ledger.inbox_sheets import (
    SweptSheet,
    begin_campaign,
    delivered_since,
    end_sheet,
    rows_in_need,
    states_of,
)
from callsheet.tasks.ledger.nightly_runs import (
    EVERY_INBOX,
    KeptNight,
    Pause,
    keep_report,
    pause,
    pauses_at,
    resume,
)
from callsheet.tasks.ledger.values import NOT_BEGUN, State
from callsheet.tasks.nights.reports import SheetReport
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.amounts import parse_duration

# What the ledger is told of a sheet in a night, and what it tells: each one transaction.


#: Where nothing moves by itself, and nothing is to be looked at.
RESTING: frozenset[State] = frozenset(
    {"delivered", "cancelled", "retired", "rejected", "failed", "uncertain"}
)
#: Where no video of a row is there or under way.
_NOT_MADE: frozenset[State] = NOT_BEGUN | {"held", "rejected", "cancelled", "retired"}


def begin(connection: Connection, *, inbox: str, sheet: SweptSheet) -> SweptSheet:
    """Note how the campaign of a sheet stands before anything is done for it; return the sheet."""
    found = find_campaign(connection, sheet.campaign or "")
    event = last_event(connection, found.id) if found else 0
    charged = tally_of(connection, found).paid_here if found else Decimal(0)
    return begin_campaign(connection, inbox, sheet, charged=charged, event=event)


def close(
    connection: Connection,
    sheet: SweptSheet,
    *,
    night: KeptNight,
    place: str,
    report: str,
) -> bool:
    """Keep what became of a sheet, and of the night so far; False where that is another's by now.

    Whoever has lost the night leaves its sheets to the sweep that has it.
    """
    if not keep_report(connection, night.id, place=place, report=report):
        return False
    end_sheet(connection, night.inbox, sheet)
    return True


def with_figures(
    connection: Connection, report: SheetReport, *, campaign: Campaign, known: SweptSheet
) -> SheetReport:
    """Return a report with how its campaign stands, and what has come of it since `begin`."""
    tally = tally_of(connection, campaign)
    before, event = known.charged_before, known.event_before
    return replace(
        report,
        rows=tally.as_json(),
        charged=Decimal(0) if before is None else tally.paid_here - before,
        reserved=tally.reserved,
        budget=tally.budget,
        delivered=() if event is None else delivered_since(connection, campaign.id, event),
        needing=rows_in_need(connection, campaign.id),
    )


def resting(connection: Connection, known: SweptSheet, *, sandbox: bool) -> SheetReport | None:
    """Return what to say of a sheet whose campaign rests as it did before; None where it moves.

    What a sandbox made is nothing that was made, where the service is none, and the reverse.
    """
    campaign = find_campaign(connection, known.campaign or "")
    if campaign is None or is_other_money(campaign, sandbox=sandbox):
        return None
    states: frozenset[Any] = frozenset(states_of(connection, campaign.id))
    status, before = exit_status(states), 3 if known.outcome == "needs-person" else 0
    if not states <= RESTING or status != before:
        return None
    report = SheetReport(
        sheet=known.name,
        campaign=campaign.name,
        outcome="needs-person" if status else "unchanged",
        exit_status=status,
    )
    return with_figures(connection, report, campaign=campaign, known=known)


# Pauses as people set and lift them: each is in the activity log beside what it changes.


def read_moment(text: str, *, zone: tzinfo, at: float) -> float:
    """Return until when a pause is to last: a date (its beginning in a zone), a moment, or `3d`.

    Raises BadInput for what is none of these, or has passed.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        try:
            return at + parse_duration(text)
        except BadInput:
            raise BadInput(
                f'"{text}" is neither a date nor a duration; nothing was changed',
                remedy="write it like 2027-01-03, 2027-01-03T18:00 or 3d",
            ) from None
    moment = (found if found.tzinfo else found.replace(tzinfo=zone)).timestamp()
    if moment <= at:
        raise BadInput(f"{text} has passed: there is nothing to pause until then")
    return moment


def set_pauses(connection: Connection, pauses: Sequence[Pause]) -> None:
    """Have inboxes sleep, each until its moment; whatever pause they were in."""
    for one in pauses:
        pause(connection, one)
        note_act(connection, at=one.at, by=one.by, act="pause nights", words=whose(one.inbox))


def lift_pauses(
    connection: Connection, *, inboxes: Collection[str] | None, by: str, at: float
) -> tuple[list[str], list[Pause]]:
    """End the pauses of inboxes, or every one; return whose were lifted, and those that stay."""
    held = [one.inbox for one in pauses_at(connection, at)]
    lifted = [name for name in held if inboxes is None or name in inboxes]
    for name in lifted:
        resume(connection, name)
        note_act(connection, at=at, by=by, act="resume nights", words=whose(name))
    return lifted, pauses_at(connection, at)


def whose(inbox: str) -> str:
    """Return whose pause it is, for people."""
    return "all inboxes" if inbox == EVERY_INBOX else inbox
