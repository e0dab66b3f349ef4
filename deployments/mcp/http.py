"""`/mcp` on the board: agents of other machines, each with its bearer token.

The board's guard has checked host, origin and token before anything here is reached.
"""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from callsheet.deployments.board.board import Beside, Board, nobody
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.services.videos import Videos
from callsheet.tasks.ledger.people import Person

#: Sessions of earlier versions of the protocol at once, and seconds that an idle one lasts.
SESSIONS, IDLE = 100, 600.0


class Agents:
    """Answers `/mcp`; its library is loaded when the first agent comes."""

    def __init__(self, board: Board, videos: Videos, beside: Beside) -> None:
        self._board, self._videos, self._beside = board, videos, beside
        self._answers: asyncio.Future[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; raise ProblemDetails (401) without a bearer token."""
        person: Person | None = scope["state"].get("person")
        # A browser that is logged in is no agent: its cookie does not count here.
        if person is None or scope["state"]["visit"].bearer is None:
            raise nobody()
        if self._answers is None:
            self._answers = asyncio.get_running_loop().create_future()
            self._beside.start(self._serve(self._answers))
        answer = await asyncio.shield(self._answers)
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        # A session, and what a client was asked, belong to whoever began them.
        token = AccessToken(token="", client_id=str(person.id), scopes=[])
        await answer({**scope, "user": AuthenticatedUser(token)}, receive, send)

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
            ready.set_result(AuthContextMiddleware(server.session_manager.handle_request))
            await asyncio.Event().wait()
