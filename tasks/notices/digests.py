"""Sends the digest of a nightly run, and an alarm when one failed.

A digest covers all nights since the previous one, usually one. A night without news is recorded.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath

from callsheet.tasks.ledger.board_settings import in_force
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.notices import (
    Notice,
    last_notice,
    last_video_at,
    reports_of,
)
from callsheet.tasks.nights.calendar import last_due
from callsheet.tasks.nights.inboxes import LONGEST, Inbox
from callsheet.tasks.nights.reports import NightReport, SheetReport, add_report
from callsheet.tasks.notices.action_items import About, Letter, about, days_of, is_worth, steps
from callsheet.tasks.notices.addresses import with_stored
from callsheet.tasks.notices.contents import gather, with_pictures
from callsheet.tasks.notices.emails import alarm_letter, digest_letter
from callsheet.tasks.notices.publish import Sending, send_waiting, unfailing, write_down
from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import Sleep, UnixClock
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.values.amounts import count


async def digest(
    ledger: Ledger,
    settings: Settings,
    inboxes: Sequence[Inbox],
    *,
    clock: UnixClock,
    sleep: Sleep = asyncio.sleep,
    report: NightReport | None = None,
) -> list[Sending]:
    """Send the due digests of every inbox. Safe to call twice; raise nothing.

    `report` is the nightly run that has just ended, where the ledger may not have it. Its digest is
    due at once, or at the `digest_at` of the inbox.
    """
    sent: list[Sending] = []
    for listed in inboxes:
        inbox = with_stored(listed, settings.home)
        due = _digest(ledger, settings, inbox, report, clock=clock, sleep=sleep)
        sent += await unfailing(inbox, due)
    return sent


async def _digest(
    ledger: Ledger,
    settings: Settings,
    inbox: Inbox,
    report: NightReport | None,
    *,
    clock: UnixClock,
    sleep: Sleep,
) -> list[Sending]:
    if not (inbox.notify or inbox.notify_of):
        return []
    settings = await ledger.read(in_force, settings=settings)
    now, nights = clock(), await _nights(ledger, inbox, report)
    sent: list[Sending] = []
    for told, campaign in audiences(replace(inbox, board=inbox.board or settings.board_url)):
        ended = None if report is None else report.night
        await _write_digest(ledger, settings, told, _only(nights, campaign), now=now, ended=ended)
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

    def is_its(sheet: SheetReport) -> bool:
        # A sheet that could not be read has no campaign yet, so its name is used.
        return (sheet.campaign or PurePath(sheet.sheet).stem) == campaign

    return [replace(one, sheets=tuple(filter(is_its, one.sheets))) for one in nights]


async def _write_digest(
    ledger: Ledger,
    settings: Settings,
    inbox: Inbox,
    nights: Sequence[NightReport],
    *,
    now: float,
    ended: str | None,
) -> None:
    told, quiet, alarm = [
        await ledger.read(last_notice, inbox=inbox.name, kind=kind)
        for kind in ("digest", "quiet", "trouble")
    ]
    nights = _due_nights(inbox, nights, told, quiet, now=now, ended=ended)
    if not (new := _untold(nights, told, quiet)):
        return
    night = merged(new)
    before = [one for one in nights if one.night < night.night]
    price = settings.credit_price
    contents = await gather(ledger, inbox, night, before, now=now, price=price)
    tells, earlier = about(night, contents.matters), About.read(told.about) if told else None
    # Ordered by their ends, not by when they were sent: a clock may be set back.
    noted = replace(tells, told={one.night: one.ended_at for one in nights}).as_text()
    kept = partial(write_down, ledger, inbox, about=noted, now=now)
    if not (
        # An alarm was the last word before this night.
        (alarm and (told.made_at if told else 0.0) < alarm.made_at < night.ended_at)
        or is_worth(tells, earlier, contents.matters, quiet=inbox.quiet)
        or any(line.deleted for line in contents.lines)
    ):
        await kept("quiet", None, window=f"{night.night} {night.ended_at}")
        return
    # A second digest of a night has other content than the first.
    again = earlier is not None and earlier.night == night.night
    videos = await with_pictures(ledger, settings, contents.videos)
    letter = digest_letter(replace(contents, videos=videos))
    window = f"{night.night} {tells.as_text()}" if again else night.night
    await kept("digest", letter, window=window)


async def _nights(ledger: Ledger, inbox: Inbox, report: NightReport | None) -> list[NightReport]:
    """Return the completed nights, newest first, including one that is not stored yet."""
    kept = await ledger.read(reports_of, inbox=inbox.name)
    found = {night.night: night for night in map(NightReport.read, kept)}
    # The stored report covers all scans of the night, including this one.
    stored = found.get(report.night) if report else None
    if report is not None and (stored is None or stored.ended_at < report.begun_at):
        found[report.night] = report
    swept = [night for night in found.values() if night.skipped is None]
    return sorted(swept, key=lambda night: night.night, reverse=True)


def _untold(nights: Sequence[NightReport], *notices: Notice | None) -> list[NightReport]:
    """Return the nights whose end no notice knows; only the newest if there never was one."""
    known = [About.read(notice.about).told for notice in notices if notice is not None]
    if not known:
        return list(nights[:1])
    return [night for night in nights if not any(_knows(told, night) for told in known)]


def _knows(told: Mapping[str, float], night: NightReport) -> bool:
    """Return whether a notice covers the final report of a night."""
    return told.get(night.night) == night.ended_at


def _due_nights(
    inbox: Inbox,
    nights: Sequence[NightReport],
    *notices: Notice | None,
    now: float,
    ended: str | None,
) -> list[NightReport]:
    """Return the nights whose digest is due: at once, or once a day at `digest_at`.

    `notices` are the last ones. At the end of a scan, where the night that `ended` waits, the
    others wait with it.
    """
    if inbox.digest_cron is None:
        return list(nights)
    last = max((one.made_at for one in notices if one and one.made_at <= now), default=0.0)

    def waits(night: NightReport) -> bool:
        zone = None if night.zone == "local" else night.zone
        moment = last_due(now, cron=inbox.digest_cron or "", timezone=zone) or 0.0
        # A night that starts in the future was recorded before the clock was set back.
        return night.begun_at <= now and not last < moment >= night.begun_at

    if any(night.night == ended and waits(night) for night in nights):
        return []
    return [night for night in nights if not waits(night)]


def merged(nights: Sequence[NightReport]) -> NightReport:
    """Return several nights, newest first, as one: all their videos and the current status."""
    sheets: dict[str, SheetReport] = {}
    for night in reversed(nights):
        for sheet in night.sheets:
            add_report(sheets, sheet)
    begun = min(night.begun_at for night in nights)
    return replace(nights[0], begun_at=begun, sheets=tuple(sheets[name] for name in sorted(sheets)))


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
    known = {} if before is None else json.loads(before.about)
    if before is not None and await _went_well(
        ledger, inbox, before.made_at, night, known["night"]
    ):
        known = {}
    since, told, letter = known.get("since", night), known.get("told"), None
    nights = days_of(since, night)
    if told is None or steps(nights) > steps(days_of(since, told)):
        told, lasting = night, f" for {count(nights, 'night')}" if nights > 1 else ""
        subject = f"{inbox.name}: the nightly run failed{lasting}{await _no_video(ledger, now)}"
        lines = (
            shorten(redact(words), 600),
            "What was paid for is in the ledger; the next nightly run continues it.",
        )
        letter = alarm_letter(subject, lines, inbox=inbox.name, link=inbox.board)
    noted = json.dumps({"night": night, "since": since, "told": told})
    await write_down(ledger, inbox, "trouble", letter, window=night, about=noted, now=now)
    return await send_waiting(ledger, inbox, clock=clock, sleep=sleep)


async def _went_well(ledger: Ledger, inbox: Inbox, after: float, *failed: str) -> bool:
    """Return whether a night ended well since a moment, other than those that failed.

    A failed night has ended too, with a partial report.
    """
    ended = map(NightReport.read, await ledger.read(reports_of, inbox=inbox.name))
    return any(one.ended_at > after and one.sheets and one.night not in failed for one in ended)


async def _no_video(ledger: Ledger, now: float) -> str:
    """Return the end of a subject: the number of days without a new video."""
    last = await ledger.read(last_video_at)
    days = int((now - last) // _DAY) if last is not None else 0
    return f", no video for {count(days, 'day')}" if days else ""
