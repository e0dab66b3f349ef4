"""Gathers what a digest says: the report, figures of the ledger, small pictures.

Pictures of videos come from the store. A picture that cannot be read is left out, because a
digest without it is better than none.
"""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from sqlalchemy import Connection

from callsheet.tasks.aftercare.pictures import Pictures
from callsheet.tasks.ledger.campaigns import Tally, find_campaign, tally_of
from callsheet.tasks.ledger.deletions import rows_deleted_since
from callsheet.tasks.ledger.deliveries import find_take_video
from callsheet.tasks.ledger.figures import late_rows
from callsheet.tasks.ledger.gauges import keep_rates
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.notices import (
    links_expiring,
    numbers_of_rows,
    plans_expiring,
    still_to_pay,
)
from callsheet.tasks.ledger.row_pages import rows_by_id, shown_rows
from callsheet.tasks.ledger.row_selection import RowFilter
from callsheet.tasks.ledger.values import NEEDS_PERSON, UNDER_WAY
from callsheet.tasks.nights.calendar import next_due
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.reports import NightReport, SheetReport
from callsheet.tasks.notices.action_items import (
    NAMED,
    CampaignFigures,
    Contents,
    Expiring,
    NewVideo,
    campaign_page,
    matters_of,
    needing_of,
    plan_page,
    row_page,
)
from callsheet.tasks.runtime.errors import CallsheetError, shorten
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.store.addresses import Places
from callsheet.tasks.values.amounts import say_date

log = logging.getLogger("callsheet.notices")
#: Pictures in an email: two rows of three.
VIDEOS = 6
#: How far ahead a digest lists what expires, in seconds.
SOON = 48 * 3600.0


@dataclass(frozen=True)
class _Known:
    """Figures of a campaign from the ledger."""

    tally: Tally
    to_pay: Decimal
    per_kept: Decimal | None
    reasons: tuple[str, ...]
    late: tuple[str, ...]
    deleted: tuple[str, ...]


async def gather(
    ledger: Ledger, inbox: Inbox, report: NightReport, before: Sequence[NightReport], *, now: float
) -> Contents:
    """Return the content of a digest; its videos have no pictures yet."""
    names = [one.campaign for one in report.sheets if one.campaign]
    moved = {one.campaign for one in report.sheets if one.outcome != "unchanged"}
    known = await ledger.read(_known, names=names, moved=moved, since=report.begun_at, now=now)
    sheets = tuple(_counted(one, known.get(one.campaign or "")) for one in report.sheets)
    now_counted = replace(report, sheets=sheets)
    reasons = {name: found.reasons for name, found in known.items()}
    videos = await ledger.read(_videos, sheets=sheets, board=inbox.board)
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
        expiring=tuple(await ledger.read(_expiring, names=names, board=inbox.board, now=now)),
        next_at=_next(inbox, now),
        board=inbox.board,
    )


def _known(
    connection: Connection,
    *,
    names: Sequence[str],
    moved: Collection[str | None],
    since: float,
    now: float,
) -> dict[str, _Known]:
    """Return figures of campaigns; only row counts for those that have not `moved`."""
    found = {}
    for name in dict.fromkeys(names):
        campaign = find_campaign(connection, name)
        if campaign is None:
            continue
        # This reads every row of a campaign.
        rates = keep_rates(connection, campaign.id) if name in moved else []
        which = RowFilter(states=tuple(sorted(NEEDS_PERSON)))
        waiting = shown_rows(connection, campaign.id, which, limit=NAMED).rows
        found[name] = _Known(
            tally=tally_of(connection, campaign),
            to_pay=still_to_pay(connection, campaign.id),
            per_kept=rates[0].each if rates else None,
            reasons=tuple(_reason(row.row, row.title, row.reason) for row in waiting),
            late=tuple(
                f"{row} (by {say_date(by)})"
                for row, by in late_rows(connection, campaign.id, at=now)
            ),
            deleted=tuple(rows_deleted_since(connection, campaign.id, since)),
        )
    return found


def _reason(row: str, title: str, reason: str | None) -> str:
    name = row if title == row else f"{row}, {shorten(title, 50)}"
    return f"{name}: {shorten(reason, 140)}" if reason else name


def _counted(sheet: SheetReport, known: _Known | None) -> SheetReport:
    """Return a sheet with the current counts of its rows: the run may be hours old."""
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
        late=known.late if known else (),
        deleted=known.deleted if known else (),
    )


def _videos(
    connection: Connection, *, sheets: Sequence[SheetReport], board: str | None
) -> list[NewVideo]:
    """Return videos of the night, taking campaigns in turn."""
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


# Small pictures of the night's videos for an email, all of one size so that they form a grid.
#
# A picture of another shape is placed on a blurred, enlarged copy of itself.


#: Size of a picture in pixels, twice its displayed size: landscape and portrait.
WIDE, TALL = (352, 198), (352, 440)
#: Time limit for all pictures of an email, in seconds.
PATIENCE = 30.0


async def with_pictures(
    ledger: Ledger, settings: Settings, videos: Sequence[NewVideo]
) -> tuple[NewVideo, ...]:
    """Return the videos, with pictures where they can be read."""
    try:
        return await asyncio.wait_for(_with_pictures(ledger, settings, videos), PATIENCE)
    except Exception as error:  # an unavailable store does not stop the digest
        log.warning("a digest goes without pictures: %s", error or type(error).__name__)
        return tuple(videos)


async def _with_pictures(
    ledger: Ledger, settings: Settings, videos: Sequence[NewVideo]
) -> tuple[NewVideo, ...]:
    async with Places() as places:
        folder = settings.home / "board" / "pictures"
        pictures = Pictures(places, spool=settings.spool, folder=folder)
        posters = []
        for video in videos:
            found = await ledger.read(
                find_take_video, campaign=video.campaign, row=video.row, take=video.take
            )
            posters.append(await pictures.find(found, "poster") if found else None)
    stills = await asyncio.to_thread(in_one_size, posters)
    return tuple(replace(video, jpeg=still) for video, still in zip(videos, stills, strict=True))


def in_one_size(posters: Sequence[bytes | None]) -> list[bytes | None]:
    """Return pictures for an email: landscape, or portrait if most of them are."""
    from PIL import Image

    sizes = []
    for poster in posters:
        if poster:
            with Image.open(io.BytesIO(poster)) as image:
                sizes.append(image.size)
    tall = sum(height > width for width, height in sizes) * 2 > len(sizes)
    return [poster and still_of(poster, TALL if tall else WIDE) for poster in posters]


def still_of(poster: bytes, size: tuple[int, int]) -> bytes:
    """Return a picture of this size: cropped if it nearly fits, else on a blurred copy."""
    from PIL import Image, ImageEnhance, ImageFilter, ImageOps

    with Image.open(io.BytesIO(poster)) as image:
        whole = image.convert("RGB")
    filled = ImageOps.fit(whole, size)
    shape, wanted = whole.width / whole.height, size[0] / size[1]
    if not 0.8 < shape / wanted < 1.25:
        behind = filled.resize((size[0] // 8, size[1] // 8)).filter(ImageFilter.GaussianBlur(3))
        filled = ImageEnhance.Brightness(behind.resize(size)).enhance(0.6)
        inside = ImageOps.contain(whole, size)
        filled.paste(inside, ((size[0] - inside.width) // 2, (size[1] - inside.height) // 2))
    out = io.BytesIO()
    filled.save(out, "JPEG", quality=78, optimize=True)
    return out.getvalue()
