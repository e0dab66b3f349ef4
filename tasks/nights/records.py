"""What the ledger records of a sheet in a nightly run, and what it knows of one that rests."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from sqlalchemy import Connection

from callsheet.tasks.campaign.match import is_other_money
from callsheet.tasks.campaign.report import exit_status
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign, last_event, tally_of
from callsheet.tasks.ledger.figures import endings_of
from callsheet.tasks.ledger.inbox_sheets import (
    SweptSheet,
    begin_campaign,
    delivered_since,
    end_sheet,
    rows_in_need,
)
from callsheet.tasks.ledger.nightly_runs import (
    KeptNight,
    keep_report,
)
from callsheet.tasks.ledger.values import State
from callsheet.tasks.nights.reports import SheetReport
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.suggest import suggest

#: States in which nothing changes by itself and nothing needs polling.
RESTING: frozenset[State] = frozenset(
    {"delivered", "cancelled", "retired", "rejected", "failed", "uncertain"}
)
#: Rows that need attention whose reasons a report has, at most.
REASONS = 5


def begin(connection: Connection, *, inbox: str, sheet: SweptSheet) -> SweptSheet:
    """Record the status of a campaign before the run changes it; return the sheet."""
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
    """Record the outcome of a sheet and the report so far; False if the lease is lost.

    A scan that has lost the lease leaves the sheets to the scan that has it.
    """
    if not keep_report(connection, night.id, place=place, report=report):
        return False
    end_sheet(connection, night.inbox, sheet)
    return True


def with_figures(
    connection: Connection, report: SheetReport, *, campaign: Campaign, known: SweptSheet
) -> SheetReport:
    """Return a report with the status of its campaign and the changes since `begin`."""
    tally = tally_of(connection, campaign)
    before, event = known.charged_before, known.event_before
    needing = rows_in_need(connection, campaign.id)
    return replace(
        report,
        rows=tally.as_json(),
        charged=Decimal(0) if before is None else tally.paid_here - before,
        reserved=tally.reserved,
        budget=tally.budget,
        delivered=() if event is None else delivered_since(connection, campaign.id, event),
        needing=tuple(row for row, _, _ in needing),
        reasons=tuple(_reason(campaign.name, *one) for one in needing[:REASONS]),
    )


def _reason(campaign: str, row: str, state: State, reason: str | None) -> str:
    """Say what is wrong with a row, and the command that shows what to do."""
    why = f": {redact(reason)}" if reason else ""
    return f"{row} is {state}{why}; `{suggest('explain', campaign, row)}` shows what you can do"


def resting(connection: Connection, known: SweptSheet, *, sandbox: bool) -> SheetReport | None:
    """Return the report of a sheet whose campaign has not changed, or None if it has.

    Sandbox videos do not count as videos of the real service, nor the reverse.
    """
    campaign = find_campaign(connection, known.campaign or "")
    if campaign is None or is_other_money(campaign, sandbox=sandbox):
        return None
    states = endings_of(connection, campaign.id)
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
