"""Writes notices down, then sends them: one for each address, each once, whoever dies over it.

A failure to send is noted and told, and is never an error. Decides nothing.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
from collections.abc import Coroutine
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from callsheet.tasks.clock import Sleep, UnixClock
from callsheet.tasks.crash import crashpoint
from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.ledger import Ledger
from callsheet.tasks.ledger.notices import (
    Notice,
    drop_old_letters,
    keep_notices,
    note_sent,
    note_unsent,
    take_notice,
    waiting_notices,
)
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices.addresses import Address, read_address
from callsheet.tasks.notices.send import send
from callsheet.tasks.notices.values import Letter, NoticeKind
from callsheet.tasks.redact import redact

log = logging.getLogger("callsheet.notices")
#: The waits before it is tried again, in seconds; later whoever comes by tries.
WAITS = (2.0, 15.0)
#: What could not be sent for so long, in seconds, is given up: there is newer news.
STALE = 36 * 3600.0


@dataclass(frozen=True, kw_only=True)
class Sending:
    """A notice that was to be sent: to whom, as it may be shown, and why it could not be."""

    inbox: str
    kind: str
    address: str
    subject: str
    failed: str | None = None


async def unfailing(inbox: Inbox, telling: Coroutine[Any, Any, list[Sending]]) -> list[Sending]:
    """Return what was sent; whatever goes wrong is said in the log, and is nobody's failure."""
    try:
        return await telling
    except Exception as error:
        words = str(error) if isinstance(error, CallsheetError) else f"{error!r}"
        log.warning("notices of %s: %s", inbox.name, redact(words))
        log.debug("where it happened", exc_info=error)
        return []


def addresses_of(inbox: Inbox) -> list[Address]:
    """Return whom an inbox tells; what is wrong with one of them does not silence the others."""
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
    letter: Letter,
    *,
    kind: NoticeKind,
    window: str,
    about: str,
    now: float,
) -> None:
    """Write a notice down for every address of an inbox in one change, once in a window.

    `window` is what it is sent once in: a night, a time of silence.
    """
    text = _as_text(letter)
    several = [
        Notice(
            key=f"{kind}:{_mark(inbox.name, window, address.mark)}",
            inbox=inbox.name,
            kind=kind,
            address=address.mark,
            subject=letter.subject,
            about=about,
            letter=text,
            made_at=now,
        )
        for address in addresses_of(inbox)
    ]
    await ledger.write(partial(keep_notices, several=several))
    crashpoint("notices: written down", inbox.name)


async def note_quiet(
    ledger: Ledger, inbox: Inbox, kind: str, *, window: str, about: str, now: float
) -> None:
    """Note what nobody is told: a night without news (`quiet`), trouble that was told before."""
    notice = Notice(
        key=f"{kind}:{_mark(inbox.name, window)}",
        inbox=inbox.name,
        kind=kind,
        address="",
        subject="",
        about=about,
        letter=None,
        made_at=now,
        sent_at=now,
    )
    await ledger.write(partial(keep_notices, several=[notice]))


async def send_waiting(
    ledger: Ledger, inbox: Inbox, *, clock: UnixClock, sleep: Sleep = asyncio.sleep
) -> list[Sending]:
    """Send what is written down for the addresses that an inbox has now."""
    begun = clock()
    stale = partial(waiting_notices, inbox=inbox.name, since=begun - STALE)
    waiting = await ledger.read(stale)
    if not waiting:
        return []
    await ledger.write(partial(drop_old_letters, before=begun - STALE))
    addresses = {address.mark: address for address in addresses_of(inbox)}
    named = [one for one in waiting if one.address in addresses]
    # Side by side: one that does not answer keeps nobody else from hearing.
    sending = [_send(ledger, addresses[one.address], one, clock, sleep) for one in named]
    return list(await asyncio.gather(*sending))


async def _send(
    ledger: Ledger, address: Address, notice: Notice, clock: UnixClock, sleep: Sleep
) -> Sending:
    letter, failed = _letter_in(notice.letter or ""), "somebody else is at it"
    done = Sending(
        inbox=notice.inbox, kind=notice.kind, address=address.shown, subject=notice.subject
    )
    for wait in (0.0, *WAITS):
        if wait:
            await sleep(wait)
        if not await ledger.write(partial(take_notice, key=notice.key, at=clock())):
            break
        crashpoint("notices: taken", notice.key)
        answer = await send(address, letter, key=notice.key, at=notice.made_at)
        if answer is None:
            crashpoint("notices: sent", notice.key)
            await ledger.write(partial(note_sent, key=notice.key, at=clock()))
            return done
        failed = answer
        await ledger.write(partial(note_unsent, key=notice.key, because=failed))
    return replace(done, failed=failed)


def _mark(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]


def _as_text(letter: Letter) -> str:
    pictures = {name: base64.b64encode(data).decode() for name, data in letter.pictures.items()}
    return json.dumps({**asdict(letter), "pictures": pictures}, ensure_ascii=False)


def _letter_in(text: str) -> Letter:
    told = json.loads(text)
    pictures = {name: base64.b64decode(data) for name, data in told["pictures"].items()}
    return Letter(**{**told, "pictures": pictures})
