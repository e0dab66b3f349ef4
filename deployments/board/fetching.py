"""Where the board reads sheets that nobody hands in: published addresses, and its inbox.

An address comes from somebody on the other end of a network: unless the settings allow it, nothing
of this machine or a private network is asked for.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from deployments.board.board import Board
from tasks.ledger import KeptSheet
from tasks.sheet.fetch import fetch
from tasks.sheet.fetched import Fetched, refused


async def fetch_address(board: Board, address: str) -> Fetched:
    """Return a published sheet; raises SheetError where it cannot be had, or must not be."""
    scheme = address.partition("://")[0].lower()
    if scheme not in ("https", "http"):
        raise refused(address[:200], "is not an https:// address")
    if board.settings.private_sheets:
        return await fetch(address)
    from tasks.sheet.web import fetch_web

    return await fetch_web(address, public=True)


async def fetch_again(board: Board, kept: KeptSheet) -> Fetched | None:
    """Return the sheet as it is at its place now, where that is no longer what was handed in."""
    if "://" not in kept.place:
        if Path(kept.place).is_relative_to(board.settings.handed_in.resolve()):
            return None
        fetched = await fetch(kept.place)
    elif kept.place.startswith("s3://"):
        fetched = await fetch(kept.place)
    else:
        fetched = await fetch_address(board, kept.place)
    same = hashlib.sha256(fetched.content).hexdigest() == kept.digest
    return None if same else fetched
