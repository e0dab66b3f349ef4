"""`callsheet nights list`, `pause`, `resume`, `test` and `digest`."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import tzinfo
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from callsheet.deployments.commands.options import settings_of
from callsheet.deployments.terminal import (
    console_for,
    plain,
    print_json,
    say_moment,
    table,
    user_name,
)
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.nightly_runs import (
    EVERY_INBOX,
    KeptNight,
    Pause,
    nights_of,
    pause,
    pause_of,
    resume,
    whose,
)
from callsheet.tasks.nights.calendar import name_of, next_due, read_moment, read_zone
from callsheet.tasks.nights.inboxes import Inbox, find_inboxes, listed_inboxes
from callsheet.tasks.nights.reports import NightReport
from callsheet.tasks.notices import Sending, digest, send_sample, with_stored
from callsheet.tasks.runtime.errors import BadInput, LedgerError
from callsheet.tasks.runtime.home import make_home
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.values.amounts import as_number, in_credits


async def show(args: Namespace) -> int:
    """Show every listed inbox with its last nightly run and the next one."""
    settings, at = settings_of(args), time.time()
    inboxes = named_inboxes(args, settings, ())
    try:
        ledger = await open_ledger(settings.ledger, create=False)
    except LedgerError:
        # Without a ledger there are none yet.
        told = [_told(one, None, None, at) for one in inboxes]
    else:
        async with ledger:
            told = [await told_of(ledger, one, at) for one in inboxes]
    if args.json:
        print_json({"inboxes": told})
        return 0
    shown = table("Nights", ("inbox", "place", "terms", "next night", "last night"))
    for inbox, one in zip(inboxes, told, strict=True):
        next_night, last_night = _next(inbox, one), say_last(one["last"])
        shown.add_row(
            *map(plain, (inbox.name, inbox.place, terms_of(inbox), next_night, last_night))
        )
    console_for(args).print(shown)
    return 0


async def told_of(ledger: Ledger, inbox: Inbox, at: float) -> Mapping[str, Any]:
    """Return what `nights list --json` tells of an inbox at a moment (Unix seconds)."""
    last = await ledger.read(nights_of, inbox=inbox.name, limit=1)
    pause = await ledger.read(pause_of, inbox=inbox.name, at=at)
    return _told(inbox, next(iter(last), None), pause, at)


def _told(
    inbox: Inbox, last: KeptNight | None, pause: Pause | None, at: float
) -> Mapping[str, Any]:
    """Return what `--json` tells of an inbox; the next night is after its pause."""
    until = None if pause is None else pause.until
    coming = None
    if inbox.cron is not None and (pause is None or until is not None):
        after = at if until is None else max(at, until - 1)
        coming = next_due(after, cron=inbox.cron, timezone=inbox.timezone)
    return {
        "inbox": inbox.name,
        "place": inbox.place,
        "cron": inbox.cron,
        "timezone": name_of(read_zone(inbox.timezone)),
        "approval": inbox.approval,
        "per_night": as_number(inbox.per_night),
        "per_sheet": as_number(inbox.per_sheet),
        "next_at": coming,
        "paused": pause is not None,
        "paused_until": until,
        "last": None if last is None else {
            "night": last.date,
            "exit": last.exit,
            "charged": as_number(NightReport.read(last.report).charged) if last.report else 0,
            "ended_at": last.ended_at,
            "skipped": last.skipped,
        },
    }  # fmt: skip


def _next(inbox: Inbox, told: Mapping[str, Any]) -> str:
    if told["paused"]:
        return f"paused {_until(told['paused_until'], read_zone(inbox.timezone))}"
    if inbox.cron is None:
        return "no schedule"
    return say_moment(told["next_at"], zone=read_zone(inbox.timezone))


def terms_of(inbox: Inbox) -> str:
    """Return the approval limits of an inbox in words."""
    if inbox.approval == "plan-only" or inbox.per_night is None:
        return "asks"
    each = "" if inbox.per_sheet is None else f", {in_credits(inbox.per_sheet)} a sheet"
    return f"{in_credits(inbox.per_night)} a night{each}"


#: Exit status of a nightly run in words.
_ENDS = {0: "OK", 1: "failed", 2: "sheets to fix", 3: "needs attention", 4: "asks", 5: "parked"}


def say_last(night: Mapping[str, Any] | None) -> str:
    """Return how the last night of an inbox ended, in words."""
    if night is None:
        return "none yet"
    ended = "under way"
    if night["ended_at"] is not None:
        ended = f"{_ENDS[night['exit'] or 0]}, {in_credits(Decimal(str(night['charged'])))}"
    return f"{night['night']}: {night['skipped'] or ended}"


# `callsheet nights pause` and `resume`, stored in the ledger, which every scheduler follows.


async def pause_nights(args: Namespace) -> int:
    """Pause inboxes until a time, or until you resume them."""
    settings, now = settings_of(args), time.time()
    said, names = _split(args.words)
    inboxes = named_inboxes(args, settings, names) if names else []
    listed = inboxes or listed_inboxes(Path.cwd(), args.nights or settings.nights)
    # The zone of the inboxes if they share one, else the machine's.
    zones = {inbox.timezone for inbox in listed}
    zone = read_zone(zones.pop() if len(zones) == 1 else None)
    until = None if said is None else read_moment(said, zone=zone, at=now)
    sleeping = [inbox.name for inbox in inboxes] or [EVERY_INBOX]
    make_home(settings.home)
    made = [Pause(inbox=name, until=until, by=user_name(), at=now) for name in sleeping]
    async with await open_ledger(settings.ledger) as ledger:
        await ledger.write(pause, found=made)
    if args.json:
        print_json({"paused": [{"inbox": name, "until": until} for name in sleeping]})
    for name in sleeping:
        console_for(args).print(plain(f"{whose(name)}: paused {_until(until, zone)}"))
    return 0


async def resume_nights(args: Namespace) -> int:
    """End the pauses of the named inboxes, or all pauses."""
    settings, named = settings_of(args), None
    if args.inboxes:
        named = [one.name for one in named_inboxes(args, settings, args.inboxes)]
    lift = partial(resume, inboxes=named, by=user_name(), at=time.time())
    async with await open_ledger(settings.ledger, create=False) as ledger:
        lifted, left = await ledger.write(lift)
    if named and EVERY_INBOX in left:
        raise BadInput(
            "all inboxes are paused, and these with them",
            remedy="`callsheet nights resume` ends every pause",
        )
    if args.json:
        print_json({"resumed": lifted})
    for name in lifted:
        console_for(args).print(plain(f"{whose(name)}: resumed"))
    if not lifted:
        console_for(args).print("nothing was paused")
    return 0


def _split(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the time after `until`, if there is one, and the inbox names."""
    if "until" not in words:
        return None, list(words)
    place = words.index("until")
    if place + 1 == len(words):
        raise BadInput("until when?", remedy="`callsheet nights pause until 2027-01-03`")
    return words[place + 1], [*words[:place], *words[place + 2 :]]


def _until(moment: float | None, zone: tzinfo) -> str:
    return "until you resume it" if moment is None else f"until {say_moment(moment, zone=zone)}"


# `callsheet nights test` and `digest`: notices sent from the command line.


async def send_samples(args: Namespace) -> int:
    """Send a sample to every address; exit with status 1 if one fails."""
    inboxes = _with_addresses(args, settings_of(args))
    sent = [one for inbox in inboxes for one in await send_sample(inbox, clock=time.time)]
    return _show_sent(args, sent)


async def send_digests(args: Namespace) -> int:
    """Send the digests that are due; a failed one is retried next time."""
    settings = settings_of(args)
    inboxes = _with_addresses(args, settings)
    async with await open_ledger(settings.ledger) as ledger:
        return _show_sent(args, await digest(ledger, settings, inboxes, clock=time.time))


def _with_addresses(args: Namespace, settings: Settings) -> list[Inbox]:
    named = named_inboxes(args, settings, args.inboxes)
    stored = [with_stored(inbox, settings.home) for inbox in named]
    found = [inbox for inbox in stored if inbox.notify or inbox.notify_of]
    if not found:
        raise BadInput(
            f"there is no one to notify: {', '.join(one.name for one in named)} has no addresses",
            remedy='write them in nights.toml: notify = ["env:NIGHT_MAIL"], or add them on the '
            "board's settings page",
        )
    return found


def _show_sent(args: Namespace, sent: Sequence[Sending]) -> int:
    if args.json:
        print_json({"sent": [_sent(**asdict(one)) for one in sent]})
    console = console_for(args)
    for one in sent:
        how = "sent" if one.failed is None else f"not sent: {one.failed}"
        console.print(plain(f"{one.inbox}, {one.kind} to {one.address}: {how} ({one.subject})"))
    if not sent:
        console.print("nothing is due")
    return 1 if any(one.failed for one in sent) else 0


def _sent(*, failed: str | None, **told: str) -> Mapping[str, object]:
    return {**told, "sent": failed is None, "error": failed}


def named_inboxes(args: Namespace, settings: Settings, named: Sequence[str]) -> list[Inbox]:
    """Return the named inboxes, else all in `nights.toml`; raise BadInput if there are none."""
    file = args.nights or settings.nights
    if named:
        found = [one for name in named for one in find_inboxes(name, folder=Path.cwd(), file=file)]
        return list({inbox.name: inbox for inbox in found}.values())
    listed = listed_inboxes(Path.cwd(), file)
    if not listed:
        raise BadInput(
            "no inboxes are listed: there is no nights.toml here, or nothing in it",
            remedy="name one (a folder, or s3://bucket/prefix), or list them in nights.toml",
        )
    return list(listed)
