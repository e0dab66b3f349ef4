"""Sends the digest of a nightly run, and an alarm when one failed.

A digest covers all nights since the previous one, usually one. A night without news is recorded.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from functools import partial
from pathlib import PurePath

from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.notices import (
    Notice,
    last_notice,
    last_video_at,
    reports_of,
)
from callsheet.tasks.nights.calendar import read_zone
from callsheet.tasks.nights.inboxes import LONGEST, Inbox
from callsheet.tasks.nights.reports import NightReport, SheetReport, earlier_report
from callsheet.tasks.notices.action_items import About, Letter, about, is_worth, nights_told, steps
from callsheet.tasks.notices.addresses import with_stored
from callsheet.tasks.notices.contents import gather, with_pictures
from callsheet.tasks.notices.emails import alarm_letter, digest_letter
from callsheet.tasks.notices.publish import Sending, note_quiet, send_waiting, unfailing, write_down
from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import Sleep, UnixClock
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.values.amounts import count


async def tell(
    ledger: Ledger,
    settings: Settings,
    inbox: Inbox,
    report: NightReport,
    *,
    clock: UnixClock,
    sleep: Sleep = asyncio.sleep,
) -> list[Sending]:
    """Send the digest of a nightly run that has ended: now, or at the `digest_at` of the inbox.

    Raise nothing: a failed notice does not fail the run.
    """
    telling = _digest(ledger, settings, inbox, clock=clock, sleep=sleep, report=report)
    return await unfailing(inbox, telling)


async def digest(
    ledger: Ledger,
    settings: Settings,
    inboxes: Sequence[Inbox],
    *,
    clock: UnixClock,
    sleep: Sleep = asyncio.sleep,
) -> list[Sending]:
    """Send the due digests of every inbox. Safe to call twice; raise nothing."""
    sent: list[Sending] = []
    for listed in inboxes:
        inbox = with_stored(listed, settings.home)
        due = _digest(ledger, settings, inbox, clock=clock, sleep=sleep)
        sent += await unfailing(inbox, due)
    return sent


async def _digest(
    ledger: Ledger,
    settings: Settings,
    inbox: Inbox,
    *,
    clock: UnixClock,
    sleep: Sleep,
    report: NightReport | None = None,
) -> list[Sending]:
    if not (inbox.notify or inbox.notify_of):
        return []
    now, nights = clock(), await _nights(ledger, inbox, report)
    sent: list[Sending] = []
    for told, campaign in audiences(replace(inbox, board=inbox.board or settings.board_url)):
        await _write_digest(ledger, settings, told, _only(nights, campaign), now=now)
        sent += await send_waiting(ledger, told, clock=clock, sleep=sleep)
    return sent


async def last_digest(
    ledger: Ledger, settings: Settings, inbox: Inbox, *, now: float
) -> Letter | None:
    """Return the digest of an inbox's last night, to look at; None before its first night."""
    nights = await _nights(ledger, inbox, None)
    if not nights:
        return None
    linked = replace(inbox, board=inbox.board or settings.board_url)
    return digest_letter(await gather(ledger, linked, nights[0], nights[1:], now=now))


def audiences(inbox: Inbox) -> list[tuple[Inbox, str | None]]:
    """Return the audiences: recipients of the whole inbox, and those of one campaign each.

    Each audience has its own name and its own history of notices.
    """
    found: list[tuple[Inbox, str | None]] = [(inbox, None)] if inbox.notify else []
    for campaign, addresses in inbox.notify_of.items():
        name = shorten(f"{inbox.name}: {campaign}", LONGEST)
        found.append((replace(inbox, name=name, notify=addresses), campaign))
    return found


def _only(nights: Sequence[NightReport], campaign: str | None) -> list[NightReport]:
    """Return nights, filtered to the sheets of one campaign if one is given."""
    if campaign is None:
        return list(nights)
    return [
        replace(
            night,
            sheets=tuple(
                one
                for one in night.sheets
                # A sheet that could not be read has no campaign yet, so its name is used.
                if (one.campaign or PurePath(one.sheet).stem) == campaign
            ),
        )
        for night in nights
    ]


async def _write_digest(
    ledger: Ledger, settings: Settings, inbox: Inbox, nights: Sequence[NightReport], *, now: float
) -> None:
    told = await ledger.read(last_notice, inbox=inbox.name, kind="digest")
    quiet = await ledger.read(last_notice, inbox=inbox.name, kind="quiet")
    new = _since(nights, told, quiet)
    # A night that starts in the future was recorded before the clock was set back.
    if not new or new[0].begun_at <= now < _due(inbox, new[0]):
        return
    night = merged(new)
    before = [one for one in nights if one.night < night.night]
    contents = await gather(ledger, inbox, night, before, now=now)
    tells, last = about(night, contents.matters), About.read(told.about) if told else None
    # Ordered by their ends, not by when they were sent: a clock may be set back.
    noted = replace(tells, told={one.night: one.ended_at for one in nights}).as_text()
    if not (
        await _alarmed_before(ledger, inbox, night, told)
        or is_worth(tells, last, contents.matters, quiet=inbox.quiet)
        or any(line.deleted for line in contents.lines)
    ):
        window = f"{night.night} {night.ended_at}"
        await note_quiet(ledger, inbox, "quiet", window=window, about=noted, now=now)
        return
    # A second digest of a night has other content than the first.
    again = last is not None and last.night == night.night
    window = f"{night.night} {tells.as_text()}" if again else night.night
    videos = await with_pictures(ledger, settings, contents.videos)
    letter = digest_letter(replace(contents, videos=videos, credit_price=settings.credit_price))
    await write_down(ledger, inbox, letter, kind="digest", window=window, about=noted, now=now)


async def _nights(ledger: Ledger, inbox: Inbox, report: NightReport | None) -> list[NightReport]:
    """Return the completed nights, newest first, including one that is not stored yet."""
    kept = await ledger.read(reports_of, inbox=inbox.name)
    found = {night.night: night for night in map(NightReport.read, kept)}
    # The stored report covers all scans of the night, including this one.
    if report is not None and not _covers(found.get(report.night), report):
        found[report.night] = report
    swept = [night for night in found.values() if night.skipped is None]
    return sorted(swept, key=lambda night: night.night, reverse=True)


def _covers(kept: NightReport | None, report: NightReport) -> bool:
    return kept is not None and kept.ended_at >= report.begun_at


def _since(
    nights: Sequence[NightReport], told: Notice | None, quiet: Notice | None
) -> list[NightReport]:
    """Return the nights without a digest; only the newest if there never was one."""
    notices = [notice for notice in (told, quiet) if notice is not None]
    if not notices:
        return list(nights[:1])
    return [night for night in nights if not any(_knows(notice, night) for notice in notices)]


def _knows(notice: Notice, night: NightReport) -> bool:
    """Return whether a notice covers the final report of a night."""
    known = nights_told(notice.about)
    if known is None:
        return night.ended_at <= notice.made_at
    return known.get(night.night) == night.ended_at


def _due(inbox: Inbox, night: NightReport) -> float:
    """Return when the digest of a night is due: at once, or at the first `digest_at` after it."""
    if inbox.digest_at is None:
        return night.begun_at
    zone = read_zone(None if night.zone == "local" else night.zone)
    begun = datetime.fromtimestamp(night.begun_at, UTC).astimezone(zone)
    at = time.fromisoformat(inbox.digest_at.zfill(5))
    due = datetime.combine(begun.date(), at, zone)
    if due < begun:
        due = datetime.combine(begun.date() + timedelta(days=1), at, zone)
    return due.timestamp()


def merged(nights: Sequence[NightReport]) -> NightReport:
    """Return several nights, newest first, as one: all their videos and the current status."""
    sheets: dict[str, SheetReport] = {}
    for night in reversed(nights):
        for sheet in night.sheets:
            then = earlier_report(sheets, sheet)
            if then is not None:
                videos = dict.fromkeys((*then.delivered, *sheet.delivered))
                charged = then.charged + sheet.charged
                sheet = replace(sheet, delivered=tuple(videos), charged=charged)
            sheets[sheet.name] = sheet
    begun = min(night.begun_at for night in nights)
    found = tuple(sheets[name] for name in sorted(sheets))
    return replace(nights[0], begun_at=begun, sheets=found)


async def _alarmed_before(
    ledger: Ledger, inbox: Inbox, night: NightReport, told: Notice | None
) -> bool:
    """Return whether an alarm was the last notice before a night."""
    alarm = await ledger.read(last_notice, inbox=inbox.name, kind="trouble")
    after = told.made_at if told is not None else 0.0
    return alarm is not None and after < alarm.made_at < night.ended_at


# Alarms: a nightly run failed.
#
# A lasting problem is sent less and less often. The subject says for how many nights it has lasted
# and for how long there was no new video.


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
    """Send an alarm that a whole nightly run failed, and why; raise nothing."""
    return await unfailing(inbox, _alarm(ledger, inbox, night, words, clock, sleep))


async def _alarm(
    ledger: Ledger, inbox: Inbox, night: str, words: str, clock: UnixClock, sleep: Sleep
) -> list[Sending]:
    if not inbox.notify:
        return []
    now = clock()
    before = await ledger.read(last_notice, inbox=inbox.name, kind="trouble")
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
    """Return the first of the consecutive failed nights and the last alarm, if any."""
    if before is None:
        return {}
    known: dict[str, str] = json.loads(before.about)
    ended = map(NightReport.read, await ledger.read(reports_of, inbox=inbox.name))
    # A failed night has ended too, with a partial report.
    well = any(
        one.ended_at > before.made_at and one.sheets and one.night not in (night, known["night"])
        for one in ended
    )
    return {} if well else known


async def _no_video(ledger: Ledger, now: float) -> str:
    """Return the end of a subject: the number of days without a new video."""
    last = await ledger.read(last_video_at)
    days = int((now - last) // _DAY) if last is not None else 0
    return f", no video for {count(days, 'day')}" if days else ""


def _days(since: str, until: str) -> int:
    first, last = (datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC) for day in (since, until))
    return (last - first).days
