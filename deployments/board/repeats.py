"""Calls that are sent again under the same `Idempotency-Key`: done once, answered the same.

Holds for every POST of the interface for programs. Who asked is part of the key: nobody gets an
answer that was somebody else's.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from email.message import Message as Header
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO

from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.tokens import without_secrets
from callsheet.deployments.board.visit import Visit
from callsheet.deployments.board.who import Person
from callsheet.tasks.ledger.kept_answers import KeptAnswer, claim_answer, drop_answer, keep_answer

_KEY = re.compile(r"[!-~]{1,255}")
#: Answers that say nothing of the request itself: it may be tried again under its key.
_NO_ANSWER = (401, 403, 408, 413, 421, 429)
#: Bytes of a request kept in memory while it is compared, and of an answer that is kept.
IN_MEMORY = 256 * 1024
LARGEST_ANSWER = 4 * 1024 * 1024


class Repeats:
    """A layer around the application, inside the guard: who is asking is known here."""

    def __init__(self, app: ASGIApp, board: Board) -> None:
        self._app = app
        self._board = board

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it as before."""
        visit: Visit = scope["state"]["visit"]
        person: Person | None = scope["state"].get("person")
        key = visit.headers.get("idempotency-key")
        if key is None or person is None or not _is_call(scope, visit):
            await self._app(scope, receive, send)
            return
        if not _KEY.fullmatch(key):
            raise ProblemDetails(400, "an Idempotency-Key is 1 to 255 visible ASCII characters")
        whose = f"{person.id}\n{person.name}\n{key}"
        digest = hashlib.sha256(whose.encode()).hexdigest()
        with SpooledTemporaryFile(IN_MEMORY) as spool:
            await _read(receive, spool)
            request = _digest(scope, visit, spool)
            claim = partial(claim_answer, digest=digest, request=request, at=self._board.clock())
            # The body is here by now: a person who was revoked meanwhile has no answer, old or new.
            known = await replace(self._board, permission=scope["state"]["permission"]).write(claim)
            if known is None:
                await self._first(scope, _replay(spool), send, digest)
            else:
                await _as_before(known, request)(scope, receive, send)

    async def _first(self, scope: Scope, receive: Receive, send: Send, digest: str) -> None:
        answer = _Kept(send)
        try:
            await self._app(scope, receive, answer.send)
        except BaseException:
            await self._board.write(partial(drop_answer, digest=digest))
            raise
        if answer.is_worth_keeping:
            # A token or a login is shown once and kept nowhere, so that a repeat has none.
            body = without_secrets(answer.body.decode("utf-8"))
            keep = partial(keep_answer, digest=digest, status=answer.status, body=body)
            await self._board.write(keep)
        else:
            await self._board.write(partial(drop_answer, digest=digest))
        await answer.release()


def _is_call(scope: Scope, visit: Visit) -> bool:
    """Whether this is a POST to a call that exists: keys of other addresses are not stored."""
    if visit.method != "POST" or not visit.path.startswith("/api/"):
        return False
    routes: list[BaseRoute] = scope["app"].router.routes
    return any(route.matches(scope)[0] is Match.FULL for route in routes)


class _Kept:
    """An answer on its way: held back until it is kept, so that nobody has one that is not."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._held: list[Message] = []
        self.status = 0
        self.body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        self.body += message.get("body", b"")
        self._held.append(message)

    async def release(self) -> None:
        for message in self._held:
            await self._send(message)

    @property
    def is_worth_keeping(self) -> bool:
        final = 200 <= self.status < 500 and self.status not in _NO_ANSWER
        return final and len(self.body) <= LARGEST_ANSWER


def _as_before(known: KeptAnswer, request: str) -> Response:
    if known.request != request:
        raise ProblemDetails(
            422,
            "this Idempotency-Key came with another request before",
            remedy="give every request a key of its own, and the same only to the very same one",
        )
    if known.status is None:
        raise ProblemDetails(
            409,
            "the same request is still being answered",
            remedy="send it again in a moment",
            headers={"Retry-After": "1"},
        )
    kind = "application/json" if known.status < 400 else "application/problem+json"
    headers = {"Idempotency-Replayed": "true"}
    return Response(known.body, known.status, headers, media_type=kind)


async def _read(receive: Receive, spool: IO[bytes]) -> None:
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ProblemDetails(400, "the request was cut off")
        spool.write(message.get("body", b""))
        if not message.get("more_body", False):
            return


def _digest(scope: Scope, visit: Visit, spool: IO[bytes]) -> str:
    """Return what is the same of two requests that are; programs make a new boundary each time."""
    kind = Header()
    kind["content-type"] = visit.headers.get("content-type", "")
    boundary = str(kind.get_boundary() or "").encode()
    digest = hashlib.sha256(visit.path.encode() + b"?" + scope["query_string"] + b"\n")
    spool.seek(0)
    left = b""
    while piece := spool.read(IN_MEMORY):
        piece = left + piece
        if boundary:
            piece = piece.replace(boundary, b"")
            # A boundary may lie across two pieces.
            cut = max(0, len(piece) - len(boundary) + 1)
            piece, left = piece[:cut], piece[cut:]
        digest.update(piece)
    digest.update(left)
    return digest.hexdigest()


def _replay(spool: IO[bytes]) -> Receive:
    spool.seek(0)
    ended = False

    async def receive() -> Message:
        nonlocal ended
        if ended:
            return {"type": "http.disconnect"}
        piece = spool.read(IN_MEMORY)
        ended = len(piece) < IN_MEMORY
        return {"type": "http.request", "body": piece, "more_body": not ended}

    return receive
