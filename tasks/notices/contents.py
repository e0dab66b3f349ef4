"""Gathers what a digest says: the report, figures of the ledger, small pictures.

Pictures of videos come from the store. A picture that cannot be read is left out, because a
digest without it is better than none.
"""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import zip_longest
from typing import Any

from sqlalchemy import Connection

from callsheet.tasks.aftercare.pictures import Pictures
from callsheet.tasks.ledger.campaigns import Campaign, Tally, find_campaign, tally_of
from callsheet.tasks.ledger.deletions import rows_deleted_since
from callsheet.tasks.ledger.deliveries import find_take_video
from callsheet.tasks.ledger.figures import late_rows
from callsheet.tasks.ledger.gauges import keep_rates
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.notices import (
    numbers_of_rows,
    plans_expiring,
    still_to_pay,
)
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import shown_rows
from callsheet.tasks.ledger.row_views import rows_by_id
from callsheet.tasks.ledger.sessions import all_links
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
from callsheet.tasks.values.amounts import CreditPrice, say_date

log = logging.getLogger("callsheet.notices")
#: Pictures in an email: two rows of three.
VIDEOS = 6
#: How far ahead a digest lists what expires, in seconds.
SOON = 48 * 3600.0


async def gather(
    ledger: Ledger,
    inbox: Inbox,
    report: NightReport,
    before: Sequence[NightReport],
    *,
    now: float,
    price: CreditPrice | None = None,
) -> Contents:
    """Return the content of a digest; its videos have no pictures yet."""
    return await ledger.read(
        _gathered, inbox=inbox, report=report, before=before, now=now, price=price
    )


def _gathered(
    connection: Connection,
    *,
    inbox: Inbox,
    report: NightReport,
    before: Sequence[NightReport],
    now: float,
    price: CreditPrice | None,
) -> Contents:
    board, sheets, lines = inbox.board, [], []
    reasons: dict[str, Sequence[str]] = {}
    videos: list[list[NewVideo]] = []
    for sheet in report.sheets:
        found = find_campaign(connection, sheet.campaign) if sheet.campaign else None
        if found is None:
            lines.append(figures_of(sheet, board))
        else:
            tally = tally_of(connection, found)
            if tally.total:
                # The run may be hours old.
                sheet = replace(sheet, rows=tally.as_json())
            known = _known(connection, sheet, tally, found.id, since=report.begun_at, now=now)
            lines.append(replace(figures_of(sheet, board), **known))
            reasons[found.name] = _reasons(connection, found.id)
            videos.append(_videos(connection, found, sheet.delivered[:VIDEOS], board))
        sheets.append(sheet)
    # Campaigns take turns.
    in_turn = [one for several in zip_longest(*videos) for one in several if one is not None]
    shown = [replace(one, part=f"video{at}") for at, one in enumerate(in_turn[:VIDEOS])]
    counted = replace(report, sheets=tuple(sheets))
    names = [one.campaign for one in sheets if one.campaign]
    return Contents(
        inbox=inbox.name,
        night=date.fromisoformat(report.night),
        zone=report.zone,
        lines=tuple(lines),
        matters=tuple(
            matters_of(
                counted, before, board=board, place=inbox.place, reasons=reasons, price=price
            )
        ),
        credit_price=price,
        videos=tuple(shown),
        more_videos=max(0, sum(len(one.delivered) for one in sheets) - len(shown)),
        charged=report.charged,
        expiring=tuple(_expiring(connection, names, board, now)),
        next_at=_next(inbox, now),
        board=board,
    )


def figures_of(sheet: SheetReport, board: str | None) -> CampaignFigures:
    """Return the figures that the report of a sheet has."""
    rows = sheet.rows
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
        charged=sheet.charged,
        reserved=sheet.reserved,
        budget=sheet.budget,
        link=campaign_page(board, sheet.campaign) or sheet.link,
    )


def _known(
    connection: Connection,
    sheet: SheetReport,
    tally: Tally,
    campaign: int,
    *,
    since: float,
    now: float,
) -> dict[str, Any]:
    """Return the figures that only the ledger has."""
    # This reads every row of a campaign, so not of one in which nothing has changed.
    rates = keep_rates(connection, campaign) if sheet.outcome != "unchanged" else []
    late = late_rows(connection, campaign, at=now)
    return {
        "charged": tally.charged,
        "reserved": tally.reserved,
        "budget": sheet.budget if tally.budget is None else tally.budget,
        "forecast": tally.charged + tally.reserved + still_to_pay(connection, campaign),
        "per_kept": rates[0].each if rates else None,
        "late": tuple(f"{row} (by {say_date(by)})" for row, by in late),
        "deleted": tuple(rows_deleted_since(connection, campaign, since)),
    }


def _reasons(connection: Connection, campaign: int) -> list[str]:
    """Return the first rows that need attention, each with its reason."""
    which = RowFilter.of(state=NEEDS_PERSON)
    found = []
    for row in shown_rows(connection, campaign, which, limit=NAMED).rows:
        name = row.row if row.title == row.row else f"{row.row}, {shorten(row.title, 50)}"
        found.append(f"{name}: {shorten(row.reason, 140)}" if row.reason else name)
    return found


def _videos(
    connection: Connection, campaign: Campaign, wanted: Sequence[str], board: str | None
) -> list[NewVideo]:
    numbers = numbers_of_rows(connection, campaign.id, wanted)
    rows = rows_by_id(connection, campaign.id, list(numbers.values()))
    return [
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


def _expiring(
    connection: Connection, names: Sequence[str], board: str | None, now: float
) -> list[Expiring]:
    found = [
        Expiring(words=f"the plan of {name}, not approved yet", at=at, link=plan_page(board, plan))
        for name, plan, at in plans_expiring(connection, names, after=now, until=now + SOON)
    ]
    found += [
        Expiring(
            words=f"the link to {link.campaign} for {link.name}",
            at=link.expires_at,
            link=campaign_page(board, link.campaign),
        )
        for name in sorted(set(names))
        for link in all_links(connection, name)
        if link.holds(now) and link.expires_at <= now + SOON
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
    posters: list[bytes | None] = []
    folder = settings.home / "board" / "pictures"
    try:
        async with asyncio.timeout(PATIENCE), Places() as places:
            pictures = Pictures(places, spool=settings.spool, folder=folder)
            for one in videos:
                found = await ledger.read(
                    find_take_video, campaign=one.campaign, row=one.row, take=one.take
                )
                posters.append(await pictures.find(found, "poster") if found else None)
            stills = await asyncio.to_thread(in_one_size, posters)
    except Exception as error:  # an unavailable store does not stop the digest
        log.warning("a digest goes without pictures: %s", error or type(error).__name__)
        return tuple(videos)
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
