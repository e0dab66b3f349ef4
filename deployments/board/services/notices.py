"""Addresses for notices that an admin adds, tests and removes, and the last digest."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.services.inboxes import listed
from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices.action_items import Letter
from callsheet.tasks.notices.addresses import (
    StoredAddress,
    check_address,
    drop_address,
    find_address,
    store_address,
    stored_addresses,
)
from callsheet.tasks.notices.digests import last_digest
from callsheet.tasks.notices.publish import Sending, send_sample

#: What the sample digest is sent as.
SAMPLE = "board"


@dataclass(frozen=True, kw_only=True)
class LastDigest:
    """What was, or would have been, sent about the last night of an inbox."""

    inbox: str
    letter: Letter | None


async def all_addresses(board: Board) -> Sequence[StoredAddress]:
    """Return the stored addresses, without what is secret in them."""
    return await asyncio.to_thread(stored_addresses, board.settings.home)


async def add(board: Board, *, name: str, pasted: str) -> StoredAddress:
    """Store an address; raise BadInput for what is none."""
    await asyncio.to_thread(check_address, board.settings.home, name, pasted)
    # First, and undone by nothing: the transaction that notes it checks the person again.
    await _note(board, "add notices", name)
    return await asyncio.to_thread(store_address, board.settings.home, name, pasted)


async def remove(board: Board, name: str) -> None:
    """Delete an address; raise BadInput where there is none."""
    await asyncio.to_thread(find_address, board.settings.home, name)
    await _note(board, "end notices", name)
    await asyncio.to_thread(drop_address, board.settings.home, name)


async def send_test(board: Board, name: str) -> Sending:
    """Send a sample digest to one address; raise BadInput where there is none."""
    found = await asyncio.to_thread(find_address, board.settings.home, name)
    await _note(board, "test notices", name)
    inbox = Inbox(name=SAMPLE, place="", notify=(f"file:{found.path}",), board=board.origin)
    (sent,) = await send_sample(inbox, clock=board.clock)
    return sent


async def last_digests(board: Board) -> list[LastDigest]:
    """Return the digest of the last night of each inbox; raise ConfigurationError for bad lists."""
    made = partial(last_digest, board.ledger, board.settings, now=board.clock())
    inboxes = await listed(board)
    return [LastDigest(inbox=inbox.name, letter=await made(inbox=inbox)) for inbox in inboxes]


async def _note(board: Board, act: str, name: str) -> None:
    await board.write(note_act, act=act, by=board.by, at=board.clock(), words=name[:60])
