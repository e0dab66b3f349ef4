"""How large the body of a request may be, and how long it may take to come.

Counted as it comes, whatever it is said to be.
"""

from __future__ import annotations

import asyncio

from starlette.types import Message, Receive

from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.visit import Visit

#: Bytes of a form or a document; a sheet is as large as its reader allows, and some more around it.
LARGEST = 1024 * 1024
LARGEST_SHEET = 24 * 1024 * 1024
#: Seconds for all of it.
TIMEOUT, SHEET_TIMEOUT = 20.0, 120.0
#: Where sheets are handed in.
SHEETS = ("/api/v1/sheets", "/new")


_LAST = {"Connection": "close"}


class BoundedBody:
    """The body of one request; `refusal` once it is too large or too slow."""

    def __init__(self, visit: Visit, receive: Receive) -> None:
        sheet = visit.path in SHEETS
        self._most = LARGEST_SHEET if sheet else LARGEST
        self._until = asyncio.get_running_loop().time() + (SHEET_TIMEOUT if sheet else TIMEOUT)
        self._receive = receive
        self._came = 0
        self._is_whole = False
        self.refusal: ProblemDetails | None = None
        said = visit.headers.get("content-length", "0")
        if not (said.isascii() and said.isdecimal() and len(said) < 19 and int(said) <= self._most):
            self.refusal = self._too_large()

    async def receive(self) -> Message:
        """Receive the next piece; raise ProblemDetails 413 or 408 when it may not come any more."""
        if self._is_whole:
            # Whoever asks now waits for the other end to leave.
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            self.refusal = ProblemDetails(408, "the request took too long to arrive", headers=_LAST)
            raise self.refusal from None
        self._came += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        if self._came > self._most:
            self.refusal = self._too_large()
            raise self.refusal
        return message

    def _too_large(self) -> ProblemDetails:
        size = f"{self._most // (1024 * 1024)} MiB"
        words = f"more than {size} came, which is more than this takes"
        return ProblemDetails(413, words, headers=_LAST)
