"""Alarms: a night that failed, and nights that do not come.

The same is told again ever more rarely, and what lasts is said in the subject: for how many nights,
and for how long no video has come.
"""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from functools import partial

from callsheet.tasks.clock import Sleep, UnixClock
from callsheet.tasks.errors import shorten
from callsheet.tasks.ledger import Ledger
from callsheet.tasks.ledger.notices import (
    LastSweep,
    Notice,
    last_notice,
    last_sweep,
    last_video_at,
    reports_of,
)
from callsheet.tasks.nights.calendar import last_due, read_zone
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.values import NightReport
from callsheet.tasks.notices.letters import alarm_letter
from callsheet.tasks.notices.matters import steps
from callsheet.tasks.notices.publish import Sending, note_quiet, send_waiting, unfailing, write_down
from callsheet.tasks.plural import count
from callsheet.tasks.redact import redact

#: How late a night may begin, and how long one may give no sign of life, in seconds.
GRACE = 1800.0
#: Nights that are counted at most.
MOST = 60
_DAY = 86400.0


async def alarm(
    ledger: Ledger,
    inbox: Inbox,
    night: str,
    words: str,
    *,
    clock: UnixClock,
    sleep: Sleep = asyncio.sleep,
) -> list[Sending]:
    """Tell at once that the night of a date failed as a whole, and why; raises nothing."""
    return await unfailing(inbox, _alarm(ledger, inbox, night, words, clock, sleep))


async def _alarm(
    ledger: Ledger, inbox: Inbox, night: str, words: str, clock: UnixClock, sleep: Sleep
) -> list[Sending]:
    if not inbox.notify:
        return []
    now = clock()
    before = await ledger.read(partial(last_notice, inbox=inbox.name, kind="trouble"))
    known = await _failing(ledger, inbox, night, before)
    since, told = known.get("since", night), known.get("told")
    nights = _days(since, night) + 1
    note = partial(json.dumps, sort_keys=True)
    if told is not None and steps(nights) <= steps(_days(since, told) + 1):
        about = note({"night": night, "since": since, "told": told})
        await note_quiet(ledger, inbox, "trouble", window=night, about=about, now=now)
    else:
        lasting = f" for {count(nights, 'night')}" if nights > 1 else ""
        subject = f"{inbox.name}: the nightly run failed{lasting}{await _no_video(ledger, now)}"
        lines = (
            shorten(redact(words), 600),
            "What was paid for is in the ledger; the next nightly run continues it.",
        )
        about = note({"night": night, "since": since, "told": night})
        letter = alarm_letter(subject, lines, inbox=inbox.name, link=inbox.board)
        await write_down(ledger, inbox, letter, kind="trouble", window=night, about=about, now=now)
    return await send_waiting(ledger, inbox, clock=clock, sleep=sleep)


async def _failing(
    ledger: Ledger, inbox: Inbox, night: str, before: Notice | None
) -> dict[str, str]:
    """Return since when nights fail in a row, and the last that was told; nothing for not yet."""
    if before is None:
        return {}
    known: dict[str, str] = json.loads(before.about)
    ended = map(NightReport.read, await ledger.read(partial(reports_of, inbox=inbox.name)))
    # A night that failed has ended as well, with what it came to.
    well = any(
        one.ended_at > before.made_at and one.sheets and one.night not in (night, known["night"])
        for one in ended
    )
    return {} if well else known


async def tell_silence(
    ledger: Ledger, inbox: Inbox, *, clock: UnixClock, sleep: Sleep = asyncio.sleep
) -> list[Sending]:
    """Raise an alarm where nights of an inbox are missing, or one does not end.

    An inbox that was never swept is given until its next night.
    """
    now = clock()
    if inbox.cron is None or not inbox.notify:
        return []
    expected = last_due(now, cron=inbox.cron, timezone=inbox.timezone)
    sweep = await ledger.read(partial(last_sweep, inbox=inbox.name, at=now))
    if expected is None or sweep.paused:
        return []
    begun = sweep.swept_at or await _known_since(ledger, inbox, now)
    missed = _missed(inbox, expected, begun, now)
    if not missed and not _hangs(sweep, now):
        return []
    before = await ledger.read(partial(last_notice, inbox=inbox.name, kind="silence"))
    told = int(json.loads(before.about)["missed"]) if before and before.made_at > begun else 0
    if told and steps(missed) <= steps(told):
        return []
    subject, lines = _silent(inbox, sweep, missed)
    subject += await _no_video(ledger, now)
    about = json.dumps({"missed": missed})
    letter = alarm_letter(subject, lines, inbox=inbox.name, link=inbox.board)
    window = f"{begun:.0f} {missed}"
    await write_down(ledger, inbox, letter, kind="silence", window=window, about=about, now=now)
    return await send_waiting(ledger, inbox, clock=clock, sleep=sleep)


def _silent(inbox: Inbox, sweep: LastSweep, missed: int) -> tuple[str, tuple[str, ...]]:
    """Return the subject and the sentences of an alarm."""
    come = f"{inbox.name}: {count(missed, 'nightly run')} did not start"
    help_words = "Check that the schedule exists and the machine is up: `callsheet nights list`."
    if sweep.begun_at is None:
        return come, ("It has never been swept.", help_words)
    last = datetime.fromtimestamp(sweep.begun_at, UTC).astimezone(read_zone(inbox.timezone))
    at = f"{last:%A} {last.day} {last:%B} at {last:%H:%M}"
    if missed:
        return come, (f"The last one began on {at}, and none since then.", help_words)
    return f"{inbox.name}: the nightly run of {last:%B} {last.day} did not finish", (
        f"It began on {at} and gives no sign of life.",
        "The next nightly run continues what it started.",
    )


async def _known_since(ledger: Ledger, inbox: Inbox, now: float) -> float:
    """Return since when an inbox is known that was never swept."""
    seen = await ledger.read(partial(last_notice, inbox=inbox.name, kind="quiet"))
    if seen is not None:
        return seen.made_at
    await note_quiet(ledger, inbox, "quiet", window="first seen", about="{}", now=now)
    return now


def _missed(inbox: Inbox, expected: float, begun: float, now: float) -> int:
    """Return how many nights were due after the last one began, each with its time to begin."""
    missed = 0
    due: float | None = expected
    while due is not None and due > begun and missed < MOST:
        missed += due + GRACE < now
        due = last_due(due - 1, cron=inbox.cron or "", timezone=inbox.timezone)
    return missed


def _hangs(sweep: LastSweep, now: float) -> bool:
    return (
        sweep.begun_at is not None
        and sweep.ended_at is None
        and now > (sweep.leased_until or sweep.begun_at) + GRACE
    )


async def _no_video(ledger: Ledger, now: float) -> str:
    """Return for how many days no video has come, as the end of a subject."""
    last = await ledger.read(last_video_at)
    days = int((now - last) // _DAY) if last is not None else 0
    return f", no video for {count(days, 'day')}" if days else ""


def _days(since: str, until: str) -> int:
    first, last = (datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC) for day in (since, until))
    return (last - first).days
