"""`callsheet nights list`, `pause`, `resume`, `test` and `digest`."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.nightly_runs import EVERY_INBOX, KeptNight, Pause, nights_of, pause_of
from callsheet.tasks.nights.calendar import name_of, next_due, read_zone
from callsheet.tasks.nights.inboxes import Inbox, find_inboxes, listed_inboxes
from callsheet.tasks.nights.records import lift_pauses, read_moment, set_pauses, whose
from callsheet.tasks.nights.reports import NightReport
from callsheet.tasks.notices import Sending, digest, send_sample, with_stored
from callsheet.tasks.runtime.errors import BadInput, LedgerError
from callsheet.tasks.runtime.home import make_home
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.values.amounts import as_number, in_credits


@dataclass(frozen=True, kw_only=True)
class InboxNights:
    """The next and last nightly run of an inbox; times in Unix seconds, None for never."""

    inbox: Inbox
    next_at: float | None
    last: KeptNight | None = None
    pause: Pause | None = None


async def show(args: Namespace) -> int:
    """Show every listed inbox."""
    settings = settings_of(args)
    found = await nights_at(settings, named_inboxes(args, settings, ()), at=time.time())
    if args.json:
        print_json({"inboxes": [_document(one) for one in found]})
        return 0
    console = console_for(args)
    shown = table("Nights", ("inbox", "place", "terms", "next night", "last night"))
    for one in found:
        shown.add_row(*map(plain, _cells(one)))
    console.print(shown)
    return 0


async def nights_at(
    settings: Settings, inboxes: Sequence[Inbox], *, at: float
) -> list[InboxNights]:
    """Return the nightly runs of inboxes; without a ledger there are none yet."""
    last: dict[str, KeptNight] = {}
    pauses: dict[str, Pause] = {}
    try:
        async with await open_ledger(settings.ledger, create=False) as ledger:
            for inbox in inboxes:
                for night in await ledger.read(nights_of, inbox=inbox.name, limit=1):
                    last[inbox.name] = night
                if pause := await ledger.read(pause_of, inbox=inbox.name, at=at):
                    pauses[inbox.name] = pause
    except LedgerError:
        if last or pauses:
            raise
    return [
        _nights_of(inbox, last.get(inbox.name), pauses.get(inbox.name), at) for inbox in inboxes
    ]


def _nights_of(inbox: Inbox, last: KeptNight | None, pause: Pause | None, at: float) -> InboxNights:
    """Return the nightly runs of one inbox; the next one is after its pause."""
    coming = None
    if inbox.cron is not None and not (pause is not None and pause.until is None):
        after = at if pause is None or pause.until is None else max(at, pause.until - 1)
        coming = next_due(after, cron=inbox.cron, timezone=inbox.timezone)
    return InboxNights(inbox=inbox, next_at=coming, last=last, pause=pause)


def _cells(one: InboxNights) -> tuple[str, ...]:
    zone = read_zone(one.inbox.timezone)
    coming = "no schedule" if one.inbox.cron is None else say_moment(one.next_at, zone=zone)
    if one.pause is not None:
        until = "until you resume it"
        if one.pause.until is not None:
            until = f"until {say_moment(one.pause.until, zone=zone)}"
        coming = f"paused {until}"
    return one.inbox.name, one.inbox.place, terms_of(one.inbox), coming, _of_last(one.last)


def terms_of(inbox: Inbox) -> str:
    """Return the approval limits of an inbox in words."""
    if inbox.approval == "plan-only" or inbox.per_night is None:
        return "asks"
    each = "" if inbox.per_sheet is None else f", {in_credits(inbox.per_sheet)} a sheet"
    return f"{in_credits(inbox.per_night)} a night{each}"


#: Exit status of a nightly run in words.
_ENDS = {0: "well", 1: "failed", 2: "sheets to fix", 3: "needs attention", 4: "asks", 5: "parked"}


def _of_last(night: KeptNight | None) -> str:
    if night is None:
        return "none yet"
    if night.skipped is not None:
        return f"{night.date}: {night.skipped}"
    if night.ended_at is None:
        return f"{night.date}: under way"
    return f"{night.date}: {_ENDS.get(night.exit or 0, 'ended')}, {in_credits(_charged(night))}"


def _charged(night: KeptNight) -> Decimal:
    return Decimal(0) if night.report is None else NightReport.read(night.report).charged


def _document(one: InboxNights) -> Mapping[str, Any]:
    inbox, last, pause = one.inbox, one.last, one.pause
    return {
        "inbox": inbox.name,
        "place": inbox.place,
        "cron": inbox.cron,
        "timezone": name_of(read_zone(inbox.timezone)),
        "approval": inbox.approval,
        "per_night": as_number(inbox.per_night),
        "per_sheet": as_number(inbox.per_sheet),
        "next_at": one.next_at,
        "paused": pause is not None,
        "paused_until": None if pause is None else pause.until,
        "last": None if last is None else {
            "night": last.date,
            "exit": last.exit,
            "charged": as_number(_charged(last)),
            "ended_at": last.ended_at,
            "skipped": last.skipped,
        },
    }  # fmt: skip


# `callsheet nights pause` and `resume`, stored in the ledger, which every scheduler follows.


async def pause_nights(args: Namespace) -> int:
    """Pause inboxes until a time, or until you resume them."""
    settings, now = settings_of(args), time.time()
    said, names = _split(args.words)
    inboxes = named_inboxes(args, settings, names) if names else []
    zone = read_zone(_one_zone(inboxes or listed_inboxes(Path.cwd(), file_of(args, settings))))
    until = None if said is None else read_moment(said, zone=zone, at=now)
    sleeping = [inbox.name for inbox in inboxes] or [EVERY_INBOX]
    made = [Pause(inbox=name, until=until, by=user_name(), at=now) for name in sleeping]
    make_home(settings.home)
    async with await open_ledger(settings.ledger) as ledger:
        await ledger.write(set_pauses, pauses=made)
    if args.json:
        print_json({"paused": [{"inbox": one.inbox, "until": one.until} for one in made]})
    for one in made:
        console_for(args).print(plain(f"{whose(one.inbox)}: paused {_until(one, zone)}"))
    return 0


async def resume_nights(args: Namespace) -> int:
    """End the pauses of the named inboxes, or all pauses."""
    settings = settings_of(args)
    named = (
        [inbox.name for inbox in named_inboxes(args, settings, args.inboxes)]
        if args.inboxes
        else None
    )
    lift = partial(lift_pauses, inboxes=named, by=user_name(), at=time.time())
    async with await open_ledger(settings.ledger, create=False) as ledger:
        lifted, left = await ledger.write(lift)
    if named and any(one.inbox == EVERY_INBOX for one in left):
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


def _one_zone(inboxes: Sequence[Inbox]) -> str | None:
    """Return the time zone of the inboxes if they share one, else the machine's."""
    zones = {inbox.timezone for inbox in inboxes}
    return zones.pop() if len(zones) == 1 else None


def _until(one: Pause, zone: tzinfo) -> str:
    if one.until is None:
        return "until you resume it"
    return f"until {say_moment(one.until, zone=zone)}"


# `callsheet nights test` and `digest`: notices sent from the command line.


async def send_samples(args: Namespace) -> int:
    """Send a sample to every address; exit with status 1 if one fails."""
    settings = settings_of(args)
    inboxes = _with_addresses(named_inboxes(args, settings, args.inboxes), settings)
    sent = [one for inbox in inboxes for one in await send_sample(inbox, clock=time.time)]
    _show(args, sent)
    return 1 if any(one.failed for one in sent) else 0


async def send_digests(args: Namespace) -> int:
    """Send the digests that are due; a failed one is retried next time."""
    settings = settings_of(args)
    inboxes = _with_addresses(named_inboxes(args, settings, args.inboxes), settings)
    async with await open_ledger(settings.ledger) as ledger:
        sent = await digest(ledger, settings, inboxes, clock=time.time)
    _show(args, sent)
    return 1 if any(one.failed for one in sent) else 0


def _with_addresses(inboxes: Sequence[Inbox], settings: Settings) -> list[Inbox]:
    stored = [with_stored(inbox, settings.home) for inbox in inboxes]
    found = [inbox for inbox in stored if inbox.notify or inbox.notify_of]
    if not found:
        named = ", ".join(inbox.name for inbox in inboxes)
        raise BadInput(
            f"there is no one to notify: {named} has no addresses",
            remedy='write them in nights.toml: notify = ["env:NIGHT_MAIL"], or add them on the '
            "board's settings page",
        )
    return found


def _show(args: Namespace, sent: Sequence[Sending]) -> None:
    if args.json:
        print_json({"sent": [_sent_document(one) for one in sent]})
    console = console_for(args)
    for one in sent:
        how = "sent" if one.failed is None else f"not sent: {one.failed}"
        console.print(plain(f"{one.inbox}, {one.kind} to {one.address}: {how} ({one.subject})"))
    if not sent:
        console.print("nothing is due")


def _sent_document(one: Sending) -> dict[str, object]:
    return {
        "inbox": one.inbox,
        "kind": one.kind,
        "address": one.address,
        "subject": one.subject,
        "sent": one.failed is None,
        "error": one.failed,
    }


# The inboxes of a command: the named ones, else all in `nights.toml`.


def file_of(args: Namespace, settings: Settings) -> Path | None:
    """Return the inbox file from options or settings; None to search for it."""
    named = args.nights or settings.nights
    return None if named is None else Path(named)


def named_inboxes(args: Namespace, settings: Settings, named: Sequence[str]) -> list[Inbox]:
    """Return the named inboxes, or all; raise BadInput if there are none."""
    file = file_of(args, settings)
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
