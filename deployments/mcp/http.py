"""`/mcp` on the board: agents of other machines, each with its bearer token.

The board's guard has checked host, origin and token before anything here is reached.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from callsheet.deployments.board.board import Board, nobody
from callsheet.deployments.board.limits import Streams, held
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.services.videos import Videos
from callsheet.deployments.mcp.sessions import IDLE, SESSIONS, Sessions
from callsheet.deployments.tokens import digest_of
from callsheet.tasks.ledger.people import Person, person_of_token
from callsheet.tasks.runtime.errors import CallsheetError

log = logging.getLogger("callsheet.mcp")

#: How often it is checked whether people with open requests or sessions still have their token.
LOOK_AGAIN = 30.0
SESSION_ID = b"mcp-session-id"


class Agents:
    """Answers `/mcp`; its library is loaded when the first agent comes.

    Requests count as event streams of a person, since some stay open: nobody takes all of them.
    """

    def __init__(
        self,
        board: Board,
        videos: Videos,
        streams: Streams,
        look_again: float = LOOK_AGAIN,
    ) -> None:
        self._board, self._videos = board, videos
        self._streams, self._look_again = streams, look_again
        self._sessions = Sessions(board.clock)
        self._answers: asyncio.Future[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; raise ProblemDetails (401) without a bearer token, 429 for many."""
        person: Person | None = scope["state"].get("person")
        bearer = scope["state"]["visit"].bearer
        # A browser that is logged in is no agent: its cookie does not count here.
        if person is None or bearer is None:
            raise nobody()
        if self._answers is None:
            self._answers = asyncio.get_running_loop().create_future()
            self._board.beside.start(self._serve(self._answers))
        with held(self._streams, person):
            answer = await asyncio.shield(self._answers)
            work = self._answer(answer, person, digest_of(bearer), scope, receive, send)
            await self._while_known(digest_of(bearer), work)

    async def _answer(
        self,
        answer: ASGIApp,
        person: Person,
        digest: str,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        session = Headers(scope=scope).get(SESSION_ID.decode())

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                made = Headers(raw=message.get("headers", [])).get(SESSION_ID.decode())
                if session is None and made is not None:
                    self._sessions.opened(made, person.id, digest)
                elif session is not None and scope["method"] == "DELETE":
                    self._sessions.ended(session)
            await send(message)

        sessions = self._sessions
        opens = session is None and _may_open(scope)
        with sessions.opening(person.id) if opens else sessions.used(session):
            await answer(_of(person.id, scope), receive, note)

    async def _while_known(self, digest: str, work: Awaitable[None]) -> None:
        """Answer until the end, or until the token is revoked: then raise ProblemDetails (401)."""
        answering = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({answering}, timeout=self._look_again))[0]:
                if await self._is_revoked(digest):
                    raise nobody()
            answering.result()
        finally:
            if not answering.done():
                answering.cancel()
                await asyncio.gather(answering, return_exceptions=True)

    async def _is_revoked(self, digest: str) -> bool:
        try:
            return await self._board.read(person_of_token, digest=digest) is None
        except CallsheetError as error:
            # A ledger that is busy now is asked again.
            log.warning("cannot check whether an agent was revoked: %s", error)
            return False

    async def _end_revoked(self, answer: ASGIApp) -> None:
        """End the sessions of people who were revoked, again and again."""
        while True:
            await asyncio.sleep(self._look_again)
            for digest in {one.digest for one in self._sessions.open.values()}:
                if not await self._is_revoked(digest):
                    continue
                for name, one in list(self._sessions.open.items()):
                    if one.digest == digest:
                        self._sessions.ended(name)
                        await _end_session(answer, name, one.person)

    async def _serve(self, ready: asyncio.Future[ASGIApp]) -> None:
        """Have the server at work until the board ends."""
        try:
            from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
            from mcp.server.transport_security import TransportSecuritySettings

            from callsheet.deployments.mcp.caller import Desk
            from callsheet.deployments.mcp.server import make_server
        except ModuleNotFoundError as error:
            self._answers = None
            ready.set_exception(
                ProblemDetails(
                    503,
                    f"agents need a library that the board does not have ({error.name})",
                    remedy="install the extra on its machine: pip install 'callsheet[mcp]'",
                )
            )
            return
        server = make_server(Desk(board=self._board, videos=self._videos))
        server.streamable_http_app(
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_sessions=SESSIONS,
            session_idle_timeout=IDLE,
        )
        async with server.session_manager.run():
            answer = AuthContextMiddleware(server.session_manager.handle_request)
            ready.set_result(answer)
            await self._end_revoked(answer)


def _may_open(scope: Scope) -> bool:
    """Whether a request may open a session: only those of earlier versions of the protocol do."""
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

    said = Headers(scope=scope).get("mcp-protocol-version")
    return said is None or said in HANDSHAKE_PROTOCOL_VERSIONS


def _of(person: int, scope: Scope) -> Scope:
    """Return a request as the library knows whose it is."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    # A session, and what a client was asked, belong to whoever began them.
    token = AccessToken(token="", client_id=str(person), scopes=[])
    return {**scope, "user": AuthenticatedUser(token)}


async def _end_session(answer: ASGIApp, session: str, person: int) -> None:
    """End a session as its client would."""

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        pass

    headers = [(SESSION_ID, session.encode())]
    scope = {"type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"",
             "headers": headers}  # fmt: skip
    await answer(_of(person, scope), receive, send)
