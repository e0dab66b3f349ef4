"""`callsheet nights list`: each inbox, when its next night is, and how the last one was."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from callsheet.deployments.commands.options import settings_of
from callsheet.deployments.moments import say_moment
from callsheet.deployments.nights.named_inboxes import named_inboxes
from callsheet.deployments.terminal import console_for, plain, print_json, table
from callsheet.tasks.credits import as_number, in_credits
from callsheet.tasks.errors import LedgerError
from callsheet.tasks.ledger import open_ledger
from callsheet.tasks.ledger.nights import KeptNight, Pause, nights_of, pause_of
from callsheet.tasks.nights.calendar import name_of, next_due, read_zone
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.values import NightReport
from callsheet.tasks.settings import Settings


@dataclass(frozen=True, kw_only=True)
class InboxNights:
    """What is known of an inbox's nights: moments in Unix seconds, None for never."""

    inbox: Inbox
    next_at: float | None
    last: KeptNight | None = None
    pause: Pause | None = None


async def show(args: Namespace) -> int:
    """Show every inbox that is listed."""
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
    """Return what is known of nights at a moment; without a ledger there was none yet."""
    last: dict[str, KeptNight] = {}
    pauses: dict[str, Pause] = {}
    try:
        async with await open_ledger(settings.ledger, create=False) as ledger:
            for inbox in inboxes:
                for night in await ledger.read(partial(nights_of, inbox=inbox.name, limit=1)):
                    last[inbox.name] = night
                if pause := await ledger.read(partial(pause_of, inbox=inbox.name, at=at)):
                    pauses[inbox.name] = pause
    except LedgerError:
        if last or pauses:
            raise
    return [
        _nights_of(inbox, last.get(inbox.name), pauses.get(inbox.name), at) for inbox in inboxes
    ]


def _nights_of(inbox: Inbox, last: KeptNight | None, pause: Pause | None, at: float) -> InboxNights:
    """Return the nights of one: its next night is the first one after its pause."""
    coming = None
    if inbox.cron is not None and not (pause is not None and pause.until is None):
        after = at if pause is None or pause.until is None else max(at, pause.until - 1)
        coming = next_due(after, cron=inbox.cron, timezone=inbox.timezone)
    return InboxNights(inbox=inbox, next_at=coming, last=last, pause=pause)


def _cells(one: InboxNights) -> tuple[str, ...]:
    zone = read_zone(one.inbox.timezone)
    coming = "no schedule" if one.inbox.cron is None else say_moment(one.next_at, zone=zone)
    if one.pause is not None:
        until = "until it is resumed"
        if one.pause.until is not None:
            until = f"until {say_moment(one.pause.until, zone=zone)}"
        coming = f"paused {until}"
    return one.inbox.name, one.inbox.place, terms_of(one.inbox), coming, _of_last(one.last)


def terms_of(inbox: Inbox) -> str:
    """Return what an inbox may spend without asking, for people."""
    if inbox.approval == "plan-only" or inbox.per_night is None:
        return "asks"
    each = "" if inbox.per_sheet is None else f", {in_credits(inbox.per_sheet)} a sheet"
    return f"{in_credits(inbox.per_night)} a night{each}"


#: What an exit status says of a night.
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
