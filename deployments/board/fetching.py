"""Where the board reads sheets that nobody hands in: published addresses, and its inbox.

An address comes from somebody on the other end of a network: unless the settings allow it, nothing
of this machine or a private network is asked for.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from callsheet.deployments.board.board import Board
from callsheet.tasks.ledger import KeptSheet
from callsheet.tasks.settings import Settings
from callsheet.tasks.sheet.fetch import fetch
from callsheet.tasks.sheet.fetched import Fetched, refused
from callsheet.tasks.sheet.formats import SUFFIXES

#: Sheets of the inbox that are listed at most.
LISTED = 200


@dataclass(frozen=True, kw_only=True)
class InboxFile:
    """A sheet that lies in the inbox; `modified_at` in Unix seconds."""

    name: str
    path: Path
    bytes: int
    modified_at: float


def list_inbox(settings: Settings) -> list[InboxFile]:
    """Return the sheets that lie in the inbox, if there is one, the newest first."""
    if not settings.inbox:
        return []
    folder = Path(settings.inbox).expanduser().resolve()
    found = []
    with suppress(OSError):
        for path in folder.iterdir():
            # A link may lead to what is nobody's sheet.
            hidden = path.name.startswith(".") or path.is_symlink()
            if hidden or not path.is_file() or path.suffix.lower() not in SUFFIXES:
                continue
            at = path.stat()
            one = InboxFile(name=path.name, path=path, bytes=at.st_size, modified_at=at.st_mtime)
            found.append(one)
    return sorted(found, key=lambda one: (-one.modified_at, one.name))[:LISTED]


async def fetch_address(board: Board, address: str) -> Fetched:
    """Return a published sheet; raises SheetError where it cannot be had, or must not be."""
    scheme = address.partition("://")[0].lower()
    if scheme not in ("https", "http"):
        raise refused(address[:200], "is not an https:// address")
    if board.settings.private_sheets:
        return await fetch(address)
    from callsheet.tasks.sheet.web import fetch_web

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
