"""`callsheet nights pause` and `resume`: in the ledger, so that no deployment knows better."""

from __future__ import annotations

import getpass
import time
from argparse import Namespace
from collections.abc import Sequence
from datetime import tzinfo
from functools import partial
from pathlib import Path

from callsheet.deployments.commands.options import settings_of
from callsheet.deployments.moments import say_moment
from callsheet.deployments.nights.named_inboxes import file_of, named_inboxes
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.errors import BadInput
from callsheet.tasks.home import make_home
from callsheet.tasks.ledger import open_ledger
from callsheet.tasks.ledger.nights import EVERY_INBOX, Pause
from callsheet.tasks.nights.calendar import read_zone
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.nights_file import listed_inboxes
from callsheet.tasks.nights.pauses import lift_pauses, read_moment, set_pauses, whose


async def pause_nights(args: Namespace) -> int:
    """Have inboxes sleep until a moment, or until they are resumed."""
    settings, now = settings_of(args), time.time()
    said, names = _split(args.words)
    inboxes = named_inboxes(args, settings, names) if names else []
    zone = read_zone(_one_zone(inboxes or listed_inboxes(Path.cwd(), file_of(args, settings))))
    until = None if said is None else read_moment(said, zone=zone, at=now)
    sleeping = [inbox.name for inbox in inboxes] or [EVERY_INBOX]
    made = [Pause(inbox=name, until=until, by=_person(), at=now) for name in sleeping]
    make_home(settings.home)
    async with await open_ledger(settings.ledger) as ledger:
        await ledger.write(partial(set_pauses, pauses=made))
    if args.json:
        print_json({"paused": [{"inbox": one.inbox, "until": one.until} for one in made]})
    for one in made:
        console_for(args).print(plain(f"{whose(one.inbox)}: paused {_until(one, zone)}"))
    return 0


async def resume_nights(args: Namespace) -> int:
    """End the pauses of inboxes, or every pause there is."""
    settings = settings_of(args)
    named = (
        [inbox.name for inbox in named_inboxes(args, settings, args.inboxes)]
        if args.inboxes
        else None
    )
    lift = partial(lift_pauses, inboxes=named, by=_person(), at=time.time())
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
        console_for(args).print(plain(f"{whose(name)}: swept again"))
    if not lifted:
        console_for(args).print("nothing was paused")
    return 0


def _split(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the moment behind `until`, if there is one, and the names beside it."""
    if "until" not in words:
        return None, list(words)
    place = words.index("until")
    if place + 1 == len(words):
        raise BadInput("until when?", remedy="`callsheet nights pause until 2027-01-03`")
    return words[place + 1], [*words[:place], *words[place + 2 :]]


def _one_zone(inboxes: Sequence[Inbox]) -> str | None:
    """Return the zone that a date is meant in: the inboxes' own, else that of this machine."""
    zones = {inbox.timezone for inbox in inboxes}
    return zones.pop() if len(zones) == 1 else None


def _until(one: Pause, zone: tzinfo) -> str:
    if one.until is None:
        return "until it is resumed"
    return f"until {say_moment(one.until, zone=zone)}"


def _person() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "the command line"
