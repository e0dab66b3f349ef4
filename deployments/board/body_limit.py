"""How large the body of a request may be: counted as it comes, whatever it is said to be."""

from __future__ import annotations

from starlette.types import Message, Receive

from deployments.board.problem_details import ProblemDetails
from deployments.board.visit import Visit

#: Bytes of a form or a document; a sheet is as large as its reader allows, and some more around it.
LARGEST = 1024 * 1024
LARGEST_SHEET = 24 * 1024 * 1024
#: Where sheets are handed in.
SHEETS = ("/api/v1/sheets", "/new")


class BoundedBody:
    """The body of one request; `too_large` once more came than may."""

    def __init__(self, visit: Visit, receive: Receive) -> None:
        self._most = LARGEST_SHEET if visit.path in SHEETS else LARGEST
        self._receive = receive
        self._came = 0
        self.too_large: ProblemDetails | None = None
        said = visit.headers.get("content-length", "0")
        if said.isascii() and said.isdecimal() and len(said) < 19 and int(said) <= self._most:
            return
        self.too_large = self._refusal()

    async def receive(self) -> Message:
        """Receive the next piece; raise ProblemDetails 413 when it is one too many."""
        message = await self._receive()
        self._came += len(message.get("body", b""))
        if self._came > self._most:
            self.too_large = self._refusal()
            raise self.too_large
        return message

    def _refusal(self) -> ProblemDetails:
        size = f"{self._most // (1024 * 1024)} MiB"
        return ProblemDetails(413, f"more than {size} came, which is more than this takes",
                              headers={"Connection": "close"})  # fmt: skip
