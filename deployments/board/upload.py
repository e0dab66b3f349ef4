"""What comes with a request as a form or a file: bounded while it is read, spooled to the disk.

Nothing is believed of what the request says of itself: bytes are counted as they come.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException
from starlette.types import Message

from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.tasks.plural import say_bytes
from callsheet.tasks.sheet.limits import MAX_BYTES

#: What a form has around a sheet, at most: other fields, headers of its parts.
AROUND = 256 * 1024
#: Bytes that are read at most, of which none beyond the limit is kept.
DRAINED = 4 * MAX_BYTES
#: Fields of a form at most.
FIELDS = 200


@dataclass(frozen=True, kw_only=True)
class HandedForm:
    """A form: its texts by name, and its file, if one came along that is not empty."""

    texts: dict[str, str] = field(default_factory=dict)
    name: str | None = None
    content: bytes | None = None


async def upload_in(request: Request) -> HandedForm:
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


async def _read(form: FormData) -> HandedForm:
    texts = {name: value for name, value in form.multi_items() if isinstance(value, str)}
    for value in form.values():
        # A form whose file was left empty has one without a name.
        if isinstance(value, UploadFile) and value.filename:
            return HandedForm(texts=texts, name=value.filename, content=await value.read())
    return HandedForm(texts=texts)


def _bounded(request: Request) -> Request:
    limit, read = MAX_BYTES + AROUND, 0
    said = request.headers.get("content-length", "")
    if said.isdecimal() and int(said) > DRAINED:
        raise _too_large()

    async def receive() -> Message:
        nonlocal read
        message = await request.receive()
        read += len(message.get("body", b""))
        # Whoever sends a little too much hears why: an answer is read once all is sent.
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
