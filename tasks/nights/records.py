"""What the ledger is told of a sheet in a night, and what it tells: each one transaction."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection

from tasks.campaign.report import exit_status
from tasks.ledger import (
    NOT_BEGUN,
    Campaign,
    State,
    find_campaign,
    kept_rows,
    last_event,
    tally_of,
)
from tasks.ledger.inbox_sheets import (
    SweptSheet,
    begin_sheet,
    delivered_since,
    end_sheet,
    rows_in_need,
    states_of,
)
from tasks.ledger.nights import KeptNight, keep_report
from tasks.nights.values import SheetReport

#: Where nothing moves by itself, and nothing is to be looked at.
RESTING: frozenset[State] = frozenset(
    {"delivered", "cancelled", "retired", "rejected", "failed", "uncertain"}
)
#: Where no film of a row is there or under way.
_NOT_MADE = NOT_BEGUN | {"held", "rejected", "cancelled", "retired"}


def begin(connection: Connection, *, inbox: str, sheet: str, campaign: str) -> SweptSheet:
    """Note how a sheet's campaign stands before anything is done for it; return the sheet."""
    found = find_campaign(connection, campaign)
    event = last_event(connection, found.id) if found else 0
    charged = found.charged if found else Decimal(0)
    return begin_sheet(connection, inbox, sheet, charged=charged, event=event)


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
        charged=Decimal(0) if before is None else tally.charged - before,
        reserved=tally.reserved,
        budget=tally.budget,
        delivered=() if event is None else delivered_since(connection, campaign.id, event),
        needing=rows_in_need(connection, campaign.id),
    )


def is_new(connection: Connection, campaign_id: int) -> bool:
    """Whether at most one film of a campaign was begun, and nobody has kept it."""
    states = states_of(connection, campaign_id)
    begun = sum(count for state, count in states.items() if state not in _NOT_MADE)
    return begun < 2 and not kept_rows(connection, campaign_id)


def resting(connection: Connection, known: SweptSheet) -> SheetReport | None:
    """Return what to say of a sheet whose campaign rests as it did before; None where it moves."""
    campaign = find_campaign(connection, known.campaign or "")
    if campaign is None:
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
