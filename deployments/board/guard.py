"""What every request passes first: is it to us, from us, and by whom; and the headers of answers.

Plain ASGI and around everything else, so that no route, static file or refusal is without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from callsheet.deployments.board.board import Board, Permission, nobody
from callsheet.deployments.board.limits import BoundedBody, Tries
from callsheet.deployments.board.places import folders_of, hide_folders
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.refusals import answer, fault
from callsheet.deployments.board.visit import Visit, is_own_host, visit_of
from callsheet.deployments.tokens import could_be, digest_of
from callsheet.tasks.ledger.ledger import Change
from callsheet.tasks.ledger.people import Person, person_of_token
from callsheet.tasks.ledger.sessions import find_session, note_visit, person_of_session
from callsheet.tasks.store import open_store

#: No script, style, picture or video from anywhere else, nothing inline, and no one frames it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


def headers_for(board: Board) -> dict[str, str]:
    """Return the headers of every answer: videos may come from the store itself, too."""
    origin = open_store(board.settings.store).origin()
    policy = POLICY
    for kind in ("img-src", "media-src") if origin else ():
        policy = policy.replace(f"{kind} 'self'", f"{kind} 'self' {origin}")
    return {**HEADERS, "Content-Security-Policy": policy}


#: Says nothing but that the process answers, to probes that know it by number alone.
PROBE = "/live"
#: What machines ask at whatever name they know: its answer is for a token, or for anybody.
SCRAPED = "/metrics"
#: What someone may post who is not logged in.
OPEN = ("/login", "/logout")
#: How often it is looked whether someone to whom events are streamed may still have them.
LOOK_AGAIN = 30.0
#: How often it is noted that someone is still there, in seconds.
SEEN = 300.0


class Guard:
    """The outermost layer of the application."""

    def __init__(
        self,
        app: ASGIApp,
        board: Board,
        tries: Tries,
        look_again: float = LOOK_AGAIN,
    ) -> None:
        self._app = app
        self._board = board
        self._headers = headers_for(board)
        self._tries = tries
        self._look_again = look_again
        self._folders = folders_of(board.settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            return
        state = scope.setdefault("state", {})
        state["visit"] = visit = visit_of(scope, self._board)
        body, reply = BoundedBody(visit, receive), _Reply(send, self._headers)
        try:
            self._check(visit)
            if body.refusal:
                raise body.refusal
            state["person"] = person = await self._who(visit)
            is_admin = person is not None and person.may("admin")
            hide_folders(() if is_admin else self._folders)
            if person is not None:
                await self._board.refresh()
            if person is not None and visit.path not in OPEN:
                state["permission"] = Permission(self._finder(visit))
            if person is None and visit.changes and visit.path not in OPEN:
                # Before a byte of the body is looked at.
                raise nobody()

            now = asyncio.get_running_loop().time
            looked = now()

            async def send_on(message: Message) -> None:
                nonlocal looked
                if body.refusal and not reply.begun:
                    # Whatever the application makes of half a body, this is what happened.
                    await answer(Request(scope), body.refusal)(scope, receive, reply.send)
                    reply.is_over = True
                if person and now() - looked >= self._look_again:
                    looked = now()
                    await self._still(visit)
                await reply.send(message)

            await self._app(scope, body.receive, send_on)
        except ProblemDetails as problem:
            # Of an answer under way the end is cut off, which the other end sees.
            if not reply.begun:
                await answer(Request(scope), problem)(scope, receive, reply.send)
        except Exception as error:
            said = fault(error)
            if not reply.begun:
                await answer(Request(scope), said)(scope, receive, reply.send)

    def _check(self, visit: Visit) -> None:
        if visit.path in (PROBE, SCRAPED) and not visit.changes:
            return
        if not is_own_host(visit.headers.get("host", ""), self._board):
            raise ProblemDetails(
                421,
                "the board has no such name",
                title="This address belongs to another site",
                remedy=f"it is at {self._board.origin}; `callsheet board --url URL` names it",
            )
        if "\0" in visit.path or "%00" in visit.query:
            raise ProblemDetails(400, "no address here contains NUL")
        if not visit.changes and not visit.path.startswith("/mcp"):
            return
        # Without a cookie there is nothing that a page elsewhere could make use of.
        bare = visit.session is None and visit.path.startswith(("/api/", "/mcp"))
        if visit.is_foreign or not (visit.is_vouched_for or visit.bearer or bare):
            raise ProblemDetails(
                403,
                "a page of another site asked for this",
                remedy="open the board itself, and do it there; programs send a bearer token",
            )

    async def _who(self, visit: Visit) -> Person | None:
        if visit.path.startswith("/static/"):
            return None
        if visit.bearer is not None:
            return await self._of_bearer(visit, visit.bearer)
        return await self._of_session(visit) if visit.session else None

    def _finder(self, visit: Visit) -> Change[Person | None]:
        """Return what finds the person of a request again, inside the transaction of a change."""
        if visit.bearer is not None:
            return partial(person_of_token, digest=digest_of(visit.bearer), locked=True)
        digest = digest_of(visit.session or "")
        return partial(person_of_session, digest=digest, clock=self._board.clock)

    async def _still(self, visit: Visit) -> None:
        """Raise ProblemDetails once anyone who has an answer that goes on and on is out by now."""
        if await self._who(visit) is None:
            raise nobody()

    async def _of_bearer(self, visit: Visit, token: str) -> Person:
        digest = digest_of(token)
        self._tries.check(visit.client, digest)
        found = None
        if could_be(token):
            found = await self._board.read(person_of_token, digest=digest)
        if found is None:
            self._tries.was_wrong(visit.client)
            raise ProblemDetails(
                401,
                "this token is not known",
                remedy="`callsheet board people` says who has one; `invite` makes one",
                headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
            )
        self._tries.was_right(visit.client, digest)
        return found

    async def _of_session(self, visit: Visit) -> Person | None:
        digest, now = digest_of(visit.session or ""), self._board.clock()
        found = await self._board.read(find_session, digest=digest, at=now)
        if found is None:
            return None
        if now - found.seen_at > SEEN:
            # Next to the request: a look at a page must not wait for its turn to write.
            self._board.beside.start(self._board.write(note_visit, digest=digest, at=now))
        return found.person


class _Reply:
    """The one answer to a request, with the headers of every answer."""

    def __init__(self, send: Send, headers: Mapping[str, str]) -> None:
        self._send = send
        self._headers = headers
        self.begun = False
        #: What else is said is not sent: something was answered instead.
        self.is_over = False

    async def send(self, message: Message) -> None:
        if self.is_over:
            return
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                headers.setdefault(name, value)
        await self._send(message)
