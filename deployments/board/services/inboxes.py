"""Inboxes of `nights.toml` on the board: their schedules, pauses, and a scan now."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.run_process import scanning
from callsheet.deployments.nights.overview import say_last, terms_of, told_of
from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.nightly_runs import EVERY_INBOX, Pause, pause, pause_of, resume
from callsheet.tasks.nights.calendar import read_moment, read_zone, say_schedule
from callsheet.tasks.nights.inboxes import Inbox, listed_inbox, listed_inboxes
from callsheet.tasks.runtime.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class ShownInbox:
    """An inbox as the page shows it: `told` is what `nights list --json` tells of it."""

    inbox: Inbox
    told: Mapping[str, Any]
    terms: str
    schedule: str | None
    last: str
    pause: Pause | None
    begun: bool


async def listed(board: Board) -> Sequence[Inbox]:
    """Return the inboxes of `nights.toml`; raise ConfigurationError for a wrong one."""
    return await asyncio.to_thread(listed_inboxes, Path.cwd(), board.settings.nights)


async def shown_inboxes(board: Board) -> Sequence[ShownInbox]:
    """Return every inbox with its schedule in words, its pause and its last night."""
    now, shown = board.clock(), []
    for inbox in await listed(board):
        told = await told_of(board.ledger, inbox, now)
        shown.append(
            ShownInbox(
                inbox=inbox,
                told=told,
                terms=terms_of(inbox),
                schedule=None if inbox.cron is None else say_schedule(inbox.cron),
                last=say_last(told["last"]),
                pause=await board.read(pause_of, inbox=inbox.name, at=now),
                begun=scanning(inbox.name) in board.asked,
            )
        )
    return shown


async def pause_inbox(board: Board, name: str, until: str) -> None:
    """Pause an inbox until a date, a time or for a duration; without one until it is resumed.

    Raise BadInput for a moment that is none or has passed, and for an inbox that is not listed.
    """
    inbox, now, said = await _inbox(board, name), board.clock(), until.strip()
    moment = read_moment(said, zone=read_zone(inbox.timezone), at=now) if said else None
    found = Pause(inbox=inbox.name, until=moment, by=board.by, at=now)
    await board.write(pause, found=[found])


async def resume_inbox(board: Board, name: str) -> None:
    """End the pause of an inbox, or (`*`) of all of them with every pause of one."""
    ended = None if name == EVERY_INBOX else [(await _inbox(board, name)).name]
    await board.write(resume, inboxes=ended, by=board.by, at=board.clock())


async def scan_now(board: Board, name: str) -> None:
    """Have an inbox scanned next to the board, within its own limits, as the schedule does.

    Raise BadInput for one that is not listed or is paused, ConfigurationError without a service.
    """
    inbox, now = await _inbox(board, name), board.clock()
    if await board.read(pause_of, inbox=inbox.name, at=now) is not None:
        raise BadInput(f"{inbox.name} is paused: resume it first")
    board.settings.service()
    await board.write(note_act, act="scan", by=board.by, at=now, words=inbox.name)
    board.asked.add(scanning(inbox.name))
    board.attention.set()


async def _inbox(board: Board, name: str) -> Inbox:
    return await asyncio.to_thread(listed_inbox, name, Path.cwd(), board.settings.nights)
