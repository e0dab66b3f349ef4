"""What the ledger is told of a sheet in a night, and what it tells: each one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection

from callsheet.tasks.campaign.match import is_other_money
from callsheet.tasks.campaign.report import exit_status
from callsheet.tasks.campaign.values import RunOptions
from callsheet.tasks.ledger import (
    NOT_BEGUN,
    Campaign,
    State,
    find_campaign,
    kept_rows,
    last_event,
    tally_of,
)
from callsheet.tasks.ledger.inbox_sheets import (
    SweptSheet,
    begin_campaign,
    delivered_since,
    end_sheet,
    rows_but,
    rows_in_need,
    states_of,
)
from callsheet.tasks.ledger.nights import KeptNight, keep_report
from callsheet.tasks.nights.values import SheetReport

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


def canary_of(connection: Connection, campaign: str, rows: Sequence[str]) -> str | None:
    """Return the one row of a new campaign that is made; None where all of them may be.

    It is the first of the `rows` of the sheet until one was begun, and that one until a video is
    kept: whatever is put before it. Where more than one was begun somebody has wanted them.
    """
    found = find_campaign(connection, campaign)
    if found is None:
        return rows[0]
    # What has left the sheet is no video that anybody waits for.
    there = frozenset(rows)
    begun = [row for row in rows_but(connection, found.id, _NOT_MADE) if row in there]
    if len(begun) > 1 or kept_rows(connection, found.id):
        return None
    return begun[0] if begun else rows[0]


def resting(connection: Connection, known: SweptSheet, *, sandbox: bool) -> SheetReport | None:
    """Return what to say of a sheet whose campaign rests as it did before; None where it moves.

    What a sandbox made is nothing that was made, where the service is none, and the reverse.
    """
    campaign = find_campaign(connection, known.campaign or "")
    options = RunOptions(sheet=known.name, sandbox=sandbox)
    if campaign is None or is_other_money(campaign, options):
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
