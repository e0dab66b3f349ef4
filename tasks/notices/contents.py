"""Gathers what a digest tells: the night's report, and what the ledger knows beside it.

Reads the ledger, and pictures of videos from the store. What cannot be read is left out: a digest
without a picture is better than none.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.errors import CallsheetError, shorten
from callsheet.tasks.ledger import (
    NEEDS_PERSON,
    UNDER_WAY,
    Ledger,
    RowFilter,
    Tally,
    find_campaign,
    shown_rows,
    tally_of,
)
from callsheet.tasks.ledger.keep_rates import keep_rates
from callsheet.tasks.ledger.notices import (
    links_expiring,
    numbers_of_rows,
    plans_expiring,
    still_to_pay,
)
from callsheet.tasks.ledger.shown import rows_by_id
from callsheet.tasks.nights.calendar import next_due
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.values import NightReport, SheetReport
from callsheet.tasks.notices.matters import NAMED, matters_of, needing_of
from callsheet.tasks.notices.page_links import campaign_page, plan_page, row_page
from callsheet.tasks.notices.values import CampaignFigures, Contents, Expiring, NewVideo

log = logging.getLogger("callsheet.notices")
#: Pictures of a mail: two lines of three.
VIDEOS = 6
#: How far ahead it is told what expires, in seconds.
SOON = 48 * 3600.0


@dataclass(frozen=True)
class _Known:
    """What the ledger knows of a sheet's campaign."""

    tally: Tally
    to_pay: Decimal
    per_kept: Decimal | None
    reasons: tuple[str, ...]


async def gather(
    ledger: Ledger, inbox: Inbox, report: NightReport, before: Sequence[NightReport], *, now: float
) -> Contents:
    """Return what a digest of a night tells; videos are without their pictures yet."""
    names = [one.campaign for one in report.sheets if one.campaign]
    moved = {one.campaign for one in report.sheets if one.outcome != "unchanged"}
    known = await ledger.read(partial(_known, names=names, moved=moved))
    sheets = tuple(_counted(one, known.get(one.campaign or "")) for one in report.sheets)
    now_counted = replace(report, sheets=sheets)
    reasons = {name: found.reasons for name, found in known.items()}
    videos = await ledger.read(partial(_videos, sheets=sheets, board=inbox.board))
    return Contents(
        inbox=inbox.name,
        night=date.fromisoformat(report.night),
        zone=report.zone,
        lines=tuple(_line(one, known.get(one.campaign or ""), inbox.board) for one in sheets),
        matters=tuple(
            matters_of(now_counted, before, board=inbox.board, place=inbox.place, reasons=reasons)
        ),
        videos=tuple(videos),
        more_videos=max(0, sum(len(one.delivered) for one in sheets) - len(videos)),
        charged=report.charged,
        expiring=tuple(
            await ledger.read(partial(_expiring, names=names, board=inbox.board, now=now))
        ),
        next_at=_next(inbox, now),
        board=inbox.board,
    )


def _known(
    connection: Connection, *, names: Sequence[str], moved: Collection[str | None]
) -> dict[str, _Known]:
    """Return what is known of campaigns; of those that have not `moved` no more than their rows."""
    found = {}
    for name in dict.fromkeys(names):
        campaign = find_campaign(connection, name)
        if campaign is None:
            continue
        # That goes through all rows of a campaign.
        rates = keep_rates(connection, campaign.id) if name in moved else []
        which = RowFilter(states=tuple(sorted(NEEDS_PERSON)))
        waiting = shown_rows(connection, campaign.id, which, limit=NAMED).rows
        found[name] = _Known(
            tally=tally_of(connection, campaign),
            to_pay=still_to_pay(connection, campaign.id),
            per_kept=rates[0].each if rates else None,
            reasons=tuple(_reason(row.row, row.title, row.reason) for row in waiting),
        )
    return found


def _reason(row: str, title: str, reason: str | None) -> str:
    name = row if title == row else f"{row}, {shorten(title, 50)}"
    return f"{name}: {shorten(reason, 140)}" if reason else name


def _counted(sheet: SheetReport, known: _Known | None) -> SheetReport:
    """Return a sheet with its campaign's rows as they are now: a night may be hours ago."""
    if known is None or not known.tally.total:
        return sheet
    return replace(sheet, rows=known.tally.as_json())


def _line(sheet: SheetReport, known: _Known | None, board: str | None) -> CampaignFigures:
    rows, tally = sheet.rows, known.tally if known else None
    gone = rows.get("retired", 0) + rows.get("cancelled", 0)
    return CampaignFigures(
        sheet=sheet.name,
        campaign=sheet.campaign,
        outcome=sheet.outcome,
        ready=rows.get("delivered", 0),
        total=max(0, rows.get("total", 0) - gone),
        needing=needing_of(sheet),
        under_way=sum(rows.get(state, 0) for state in (*UNDER_WAY, "approved")),
        fresh=len(sheet.delivered),
        tonight=sheet.charged,
        charged=tally.charged if tally else sheet.charged,
        reserved=tally.reserved if tally else sheet.reserved,
        budget=tally.budget if tally and tally.budget is not None else sheet.budget,
        forecast=tally.charged + tally.reserved + known.to_pay if tally and known else None,
        per_kept=known.per_kept if known else None,
        asked=sheet.asked,
        link=campaign_page(board, sheet.campaign) or sheet.link,
    )


def _videos(
    connection: Connection, *, sheets: Sequence[SheetReport], board: str | None
) -> list[NewVideo]:
    """Return videos of the night, some of each campaign in turn."""
    found: list[list[NewVideo]] = []
    for sheet in sheets:
        campaign = find_campaign(connection, sheet.campaign) if sheet.campaign else None
        if campaign is None or not sheet.delivered:
            continue
        wanted = sheet.delivered[:VIDEOS]
        numbers = numbers_of_rows(connection, campaign.id, wanted)
        rows = rows_by_id(connection, campaign.id, list(numbers.values()))
        found.append(
            [
                NewVideo(
                    campaign=campaign.name,
                    row=row.row,
                    take=row.video_take,
                    title=row.title,
                    link=row_page(board, campaign.name, row.row),
                )
                for name in wanted
                if name in numbers and (row := rows[numbers[name]]).video_take is not None
            ]
        )
    most = max(map(len, found), default=0)
    in_turn = [some[at] for at in range(most) for some in found if at < len(some)]
    return [replace(video, part=f"video{at}") for at, video in enumerate(in_turn[:VIDEOS])]


def _expiring(
    connection: Connection, *, names: Sequence[str], board: str | None, now: float
) -> list[Expiring]:
    plans = plans_expiring(connection, names, after=now, until=now + SOON)
    links = links_expiring(connection, names, after=now, until=now + SOON)
    found = [
        Expiring(words=f"the plan of {name}, not approved yet", at=at, link=plan_page(board, plan))
        for name, plan, at in plans
    ]
    found += [
        Expiring(words=f"the link to {name} for {whom}", at=at, link=campaign_page(board, name))
        for name, whom, at in links
    ]
    return sorted(found, key=lambda one: one.at)


def _next(inbox: Inbox, now: float) -> float | None:
    if inbox.cron is None:
        return None
    try:
        return next_due(now, cron=inbox.cron, timezone=inbox.timezone)
    except CallsheetError as error:
        log.warning("the next night of %s is not known: %s", inbox.name, error)
        return None
