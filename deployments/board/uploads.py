"""Uploads of sheets: forms, published addresses, and how long they are kept.

Nothing is believed of what the request says of itself: bytes are counted as they come.
"""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException
from starlette.types import Message

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.tasks.campaign.uploads import forget
from callsheet.tasks.ledger.plans import KeptSheet, drop_sheets
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.sheet.fetch import fetch
from callsheet.tasks.sheet.formats import SUFFIXES
from callsheet.tasks.sheet.table import Fetched, refused
from callsheet.tasks.sheet.text import MAX_BYTES
from callsheet.tasks.values.amounts import say_bytes
from callsheet.tasks.values.locations import folder_at, is_object

#: What a form has around a sheet, at most: other fields, headers of its parts.
AROUND = 256 * 1024
#: Bytes that are read at most, of which none beyond the limit is kept.
DRAINED = 4 * MAX_BYTES
#: Fields of a form at most: the page of a sheet has one for each of up to 2,000 wrong cells.
FIELDS = 5000


@dataclass(frozen=True, kw_only=True)
class UploadForm:
    """A form: its texts by name, and its file, if one came along that is not empty.

    `map` are what headers of the sheet mean, each as `Headline=title`.
    """

    texts: dict[str, str] = field(default_factory=dict)
    map: tuple[str, ...] = ()
    name: str | None = None
    content: bytes | None = None


async def upload_in(request: Request) -> UploadForm:
    """Return a form with at most one file; raise ProblemDetails 413 or 400."""
    bounded = _bounded(request)
    try:
        form = await bounded.form(max_files=1, max_fields=FIELDS, max_part_size=MAX_BYTES)
    except MultiPartException as error:
        raise ProblemDetails(400, f"the form cannot be read: {error.message}") from error
    try:
        return await _read(form)
    finally:
        await form.close()


async def body_in(request: Request) -> bytes:
    """Return the body of a request; raise ProblemDetails 413."""
    return await _bounded(request).body()


async def _read(form: FormData) -> UploadForm:
    said = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    texts = {name: value for name, value in said if name != "map"}
    mapped = tuple(value for name, value in said if name == "map")
    for value in form.values():
        # A form whose file was left empty has one without a name.
        if isinstance(value, UploadFile) and value.filename:
            content = await value.read()
            return UploadForm(texts=texts, map=mapped, name=value.filename, content=content)
    return UploadForm(texts=texts, map=mapped)


def _bounded(request: Request) -> Request:
    limit, read = MAX_BYTES + AROUND, 0
    said = request.headers.get("content-length", "")
    if said.isdecimal() and int(said) > DRAINED:
        raise _too_large()

    async def receive() -> Message:
        nonlocal read
        message = await request.receive()
        read += len(message.get("body", b""))
        # Anyone who sends a little too much is told why: an answer is read once all is sent.
        while limit < read < DRAINED and message.get("more_body", False):
            message = await request.receive()
            read += len(message.get("body", b""))
        if read > limit:
            raise _too_large()
        return message

    return Request(request.scope, receive)


def _too_large() -> ProblemDetails:
    return ProblemDetails(
        413,
        f"this is larger than {say_bytes(MAX_BYTES)}, the limit for a sheet",
        remedy="split the sheet",
    )


# Where the board reads sheets that no one uploads: published addresses, and its inbox.
#
# An address comes from someone on the other end of a network: unless the settings allow it,
# nothing of this machine or a private network is asked for.


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
            # A link may lead to what is no one's sheet.
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
    """Return the sheet as it is at its place now, where that is no longer what was uploaded."""
    path = folder_at(kept.place)
    if path is not None and path.is_relative_to(board.settings.uploads.resolve()):
        return None
    if path is not None or is_object(kept.place):
        fetched = await fetch(kept.place)
    else:
        fetched = await fetch_address(board, kept.place)
    same = hashlib.sha256(fetched.content).hexdigest() == kept.digest
    return None if same else fetched


#: Seconds that a sheet without a plan is stored.
LIFETIME = 30 * 86400.0


async def drop_old_uploads(board: Board) -> None:
    """Remove uploads that are past their lifetime.

    The caller holds `board.uploads` until the new sheet is in the ledger.
    """
    old = await board.write(drop_sheets, before=board.clock() - LIFETIME)
    await asyncio.to_thread(forget, board.settings, old)
