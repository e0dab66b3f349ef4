"""A digest that was never so, to try whether addresses work and how it looks."""

from __future__ import annotations

import io
import secrets
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain

from callsheet.tasks.clock import UnixClock
from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.nights.calendar import read_zone
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices.addresses import read_address
from callsheet.tasks.notices.letters import digest_letter
from callsheet.tasks.notices.page_links import campaign_page, row_page
from callsheet.tasks.notices.publish import Sending
from callsheet.tasks.notices.send import send
from callsheet.tasks.notices.stills import WIDE
from callsheet.tasks.notices.values import CampaignFigures, Contents, Letter, Matter, NewVideo
from callsheet.tasks.suggest import suggest

#: Videos of the sample: what they are called, and two colours each.
_VIDEOS = (
    ("First light", (253, 224, 171), (233, 120, 92)),
    ("Rain on the roof", (176, 205, 226), (62, 88, 134)),
    ("The long table", (214, 226, 184), (74, 122, 92)),
)


async def send_sample(inbox: Inbox, *, clock: UnixClock) -> list[Sending]:
    """Send a sample to every address of an inbox; return what became of each. Raises nothing."""
    now = clock()
    letter, sent = sample_letter(inbox, now=now), []
    for written in dict.fromkeys((*inbox.notify, *chain(*inbox.notify_of.values()))):
        failed: str | None
        try:
            address = read_address(written, folder=inbox.folder)
            shown = address.shown
            failed = await send(address, letter, key=secrets.token_hex(8), at=now)
        except CallsheetError as error:
            source = written if written.startswith(("env:", "file:")) else "an address"
            shown, failed = source, str(error)
        sent.append(
            Sending(
                inbox=inbox.name,
                kind="sample",
                address=shown,
                subject=letter.subject,
                failed=failed,
            )
        )
    return sent


def sample_letter(inbox: Inbox, *, now: float) -> Letter:
    """Return a digest of a night that never was."""
    board, zone = inbox.board, read_zone(inbox.timezone)
    line = CampaignFigures(
        sheet="spring.csv",
        campaign="spring",
        outcome="needs-person",
        ready=41,
        total=42,
        needing=1,
        fresh=3,
        tonight=Decimal(9),
        charged=Decimal(126),
        budget=Decimal(200),
        link=campaign_page(board, "spring"),
    )
    contents = Contents(
        inbox=inbox.name,
        night=datetime.fromtimestamp(now, UTC).astimezone(zone).date(),
        zone=getattr(zone, "key", "local"),
        lines=(line,),
        matters=(_matter(board),),
        videos=_videos(board),
        charged=line.tonight,
        board=board,
    )
    return digest_letter(contents, sample=True)


def _matter(board: str | None) -> Matter:
    page = campaign_page(board, "spring", "attention")
    return Matter(
        mark="sample",
        kind="needs-person",
        sheet="spring.csv",
        campaign="spring",
        title="1 video needs you",
        lines=("spring-17: the render failed; another take is priced first",),
        button="Decide on 1 video" if page else None,
        link=page,
        command=None if page else suggest("rows", "spring"),
    )


def _videos(board: str | None) -> tuple[NewVideo, ...]:
    return tuple(
        NewVideo(
            campaign="spring",
            row=title,
            take=1,
            title=title,
            link=row_page(board, "spring", title),
            part=f"video{at}",
            jpeg=_drawn(above, below),
        )
        for at, (title, above, below) in enumerate(_VIDEOS)
    )


def _drawn(above: tuple[int, int, int], below: tuple[int, int, int]) -> bytes:
    """Return a picture that goes from one colour to another."""
    from PIL import Image

    drawn = Image.new("RGB", (1, 2))
    drawn.putdata([above, below])
    out = io.BytesIO()
    drawn.resize(WIDE, Image.Resampling.BICUBIC).save(out, "JPEG", quality=80)
    return out.getvalue()
