"""Nights as sweeps leave them in the ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, insert

from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.schema_runs import nights
from callsheet.tasks.nights.reports import NightReport, SheetReport

BERLIN = "Europe/Berlin"


def at(date: str, time: str = "02:00") -> float:
    """Return a moment in Berlin."""
    return datetime.fromisoformat(f"{date}T{time}").replace(tzinfo=ZoneInfo(BERLIN)).timestamp()


def night(date: str, *sheets: SheetReport, ended: str = "02:40") -> NightReport:
    """Return a night that was swept."""
    return NightReport(
        inbox="spring",
        night=date,
        zone=BERLIN,
        begun_at=at(date),
        ended_at=at(date, ended),
        sheets=sheets,
    )


#: Sheets as they come out of a night.
MADE = SheetReport(
    sheet="spring.csv",
    campaign="spring",
    outcome="delivered",
    rows={"total": 2, "delivered": 2},
    charged=Decimal(6),
    delivered=("a", "b"),
)
UNCHANGED = replace(MADE, outcome="unchanged", charged=Decimal(0), delivered=())
FAILED = replace(
    UNCHANGED,
    outcome="needs-person",
    rows={"total": 2, "delivered": 1, "failed": 1},
    needing=("b",),
    exit_status=3,
)
BROKEN = SheetReport(
    sheet="broken.csv",
    campaign=None,
    outcome="invalid",
    problems=('broken.csv:3 row "x", column language (C3): "gr" is no language',),
    exit_status=2,
)
DEAR = SheetReport(
    sheet="dear.csv",
    campaign="dear",
    outcome="not-approved",
    rows={"total": 40},
    asked=Decimal(120),
    words="it is beyond the 100 credits of a night",
    exit_status=4,
    link="https://board.example/plans/p1",
)
PARKED = replace(UNCHANGED, outcome="parked", exit_status=5, rows={"total": 2, "rendering": 2})
ASIDE = replace(BROKEN, outcome="set-aside", words="it failed in three nights")


async def swept(ledger: Ledger, report: NightReport) -> None:
    """Keep a night as one that has ended."""
    await ledger.write(_keep, report=report)


def _keep(connection: Connection, *, report: NightReport) -> None:
    connection.execute(
        insert(nights).values(
            inbox=report.inbox,
            date=report.night,
            zone=report.zone,
            begun_at=report.begun_at,
            ended_at=report.ended_at,
            exit=report.exit_status,
            report=report.as_text(),
        )
    )
