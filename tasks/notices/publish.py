"""Writes notices to the ledger, then sends each one once; also a sample.

A failed notice is recorded and logged; it is never an error.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain
from typing import Any

from pydantic import TypeAdapter

from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.notices import (
    Notice,
    drop_old_letters,
    keep_notices,
    note_sent,
    note_unsent,
    take_notice,
    waiting_notices,
)
from callsheet.tasks.nights.calendar import name_of, read_zone
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.reports import NightReport, SheetReport
from callsheet.tasks.notices.action_items import (
    Contents,
    Letter,
    NewVideo,
    NoticeKind,
    matters_of,
    row_page,
)
from callsheet.tasks.notices.contents import figures_of
from callsheet.tasks.notices.emails import digest_letter
from callsheet.tasks.notices.send import Address, read_address, send
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.process import Sleep, UnixClock
from callsheet.tasks.runtime.redact import redact

log = logging.getLogger("callsheet.notices")
#: Seconds to wait before each retry; the next nightly run or digest retries after that.
WAITS = (2.0, 15.0)
#: A notice that is older than this, in seconds, is dropped.
STALE = 36 * 3600.0
_FORM = TypeAdapter(Letter)


@dataclass(frozen=True, kw_only=True)
class Sending:
    """The result of sending a notice: the address to display, and why sending failed."""

    inbox: str
    kind: str
    address: str
    subject: str
    failed: str | None = None


async def unfailing(inbox: Inbox, telling: Coroutine[Any, Any, list[Sending]]) -> list[Sending]:
    """Return what was sent; log any error instead of raising it."""
    try:
        return await telling
    except Exception as error:
        words = str(error) if isinstance(error, CallsheetError) else f"{error!r}"
        log.warning("notices of %s: %s", inbox.name, redact(words))
        log.debug("where it happened", exc_info=error)
        return []


def addresses_of(inbox: Inbox) -> list[Address]:
    """Return the addresses of an inbox; log and skip the ones that cannot be read."""
    found = []
    for written in inbox.notify:
        try:
            found.append(read_address(written, folder=inbox.folder))
        except CallsheetError as error:
            log.warning("notices of %s: %s", inbox.name, error)
    return list({address.mark: address for address in found}.values())


async def write_down(
    ledger: Ledger,
    inbox: Inbox,
    kind: NoticeKind,
    letter: Letter | None,
    *,
    window: str,
    about: str,
    now: float,
) -> None:
    """Store a notice for every address of an inbox in one transaction, once per window.

    `window` is the period in which it is sent once, such as a night. Without a letter, record that
    nothing is sent: a quiet night, or a repeated alarm.
    """
    several = [
        Notice(
            key=f"{kind}:{_mark(inbox.name, window, address)}",
            inbox=inbox.name,
            kind=kind,
            address=address,
            subject=letter.subject if letter else "",
            about=about,
            letter=_FORM.dump_json(letter).decode() if letter else None,
            made_at=now,
            sent_at=None if letter else now,
        )
        for address in ([one.mark for one in addresses_of(inbox)] if letter else [""])
    ]
    await ledger.write(keep_notices, several=several)
    crashpoint("notices: written down", inbox.name)


async def send_waiting(
    ledger: Ledger, inbox: Inbox, *, clock: UnixClock, sleep: Sleep = asyncio.sleep
) -> list[Sending]:
    """Send the stored notices to the addresses that the inbox has now."""
    begun = clock()
    waiting = await ledger.read(waiting_notices, inbox=inbox.name, since=begun - STALE)
    if not waiting:
        return []
    await ledger.write(drop_old_letters, before=begun - STALE)
    addresses = {address.mark: address for address in addresses_of(inbox)}
    named = [one for one in waiting if one.address in addresses]
    # Concurrently: an address that does not answer does not delay the others.
    sending = [_send(ledger, addresses[one.address], one, clock, sleep) for one in named]
    return list(await asyncio.gather(*sending))


async def _send(
    ledger: Ledger, address: Address, notice: Notice, clock: UnixClock, sleep: Sleep
) -> Sending:
    letter, failed = _FORM.validate_json(notice.letter or ""), "another process is sending it"
    done = Sending(
        inbox=notice.inbox, kind=notice.kind, address=address.shown, subject=notice.subject
    )
    for wait in (0.0, *WAITS):
        if wait:
            await sleep(wait)
        if not await ledger.write(take_notice, key=notice.key, at=clock()):
            break
        crashpoint("notices: taken", notice.key)
        answer = await send(address, letter, key=notice.key, at=notice.made_at)
        if answer is None:
            crashpoint("notices: sent", notice.key)
            await ledger.write(note_sent, key=notice.key, at=clock())
            return done
        failed = answer
        await ledger.write(note_unsent, key=notice.key, because=failed)
    return replace(done, failed=failed)


def _mark(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]


# A sample digest, to test addresses and layout.


async def send_sample(inbox: Inbox, *, clock: UnixClock) -> list[Sending]:
    """Send a sample to every address of an inbox; return each result. Raise nothing."""
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
    """Return a sample digest."""
    board, zone = inbox.board, read_zone(inbox.timezone)
    sheet = SheetReport(
        sheet="spring.csv",
        campaign="spring",
        outcome="needs-person",
        rows={"total": 42, "delivered": 41, "failed": 1},
        charged=Decimal(9),
        budget=Decimal(200),
    )
    reasons = ["spring-17: the render failed; another take is priced first"]
    day = datetime.fromtimestamp(now, UTC).astimezone(zone).date()
    night = NightReport(
        inbox=inbox.name, night=str(day), zone="", begun_at=now, ended_at=now, sheets=(sheet,)
    )
    line = replace(figures_of(sheet, board), fresh=3, charged=Decimal(126))
    contents = Contents(
        inbox=inbox.name,
        night=day,
        zone=name_of(zone),
        lines=(line,),
        matters=tuple(matters_of(night, board=board, reasons={"spring": reasons})),
        videos=tuple(
            NewVideo(
                campaign="spring",
                row=title,
                take=1,
                title=title,
                link=row_page(board, "spring", title),
            )
            for title in ("First light", "Rain on the roof", "The long table")
        ),
        charged=line.tonight,
        board=board,
    )
    return digest_letter(contents, sample=True)
