"""Prefect's server, on a socket on which the parent process already listens.

    python -m callsheet.deployments.prefect_server WHERE

WHERE is the number of the socket's file, as in `7`; on Windows, which passes none on, it is a port,
as in `port:4200`. A port that is bound first is no one else's: what answers there is this server.

The server asks for no login, so it answers only to names of this machine, and to no page of another
site: a page can point its own name at this machine (DNS rebinding) and then read the answers.
"""

from __future__ import annotations

import socket
import sys
from urllib.parse import urlsplit

import uvicorn
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.importer import import_from_string

#: What makes Prefect's application.
PREFECT = "prefect.server.api.server:create_app"
#: How uvicorn says that an application did not start.
DID_NOT_START = 3
#: The names by which programs and browsers on this machine reach it.
OWN_NAMES = ("127.0.0.1", "localhost", "::1")
#: Status of a request for another name, and of one that a page of another site sent.
WRONG_NAME, FOREIGN_PAGE = 421, 403


class OwnNamesOnly:
    """Refuses requests for foreign names and from pages of other sites, before Prefect sees them.

    Prefect's own CORS settings are not enough: they hide answers from other sites, but requests
    that need no permission first, such as a POST without a content type, still start flow runs.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request or websocket on, or refuse it."""
        refusal = _refusal(Headers(scope=scope)) if scope["type"] != "lifespan" else None
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            status, reason = refusal
            answer = JSONResponse({"detail": reason}, status, {"connection": "close"})
            await answer(scope, receive, send)


def _refusal(headers: Headers) -> tuple[int, str] | None:
    """Return status and reason, if these headers are not those of a request of this machine."""
    host = headers.get("host", "")
    if _name_and_port(f"http://{host}")[0] not in OWN_NAMES:
        return WRONG_NAME, "this Prefect server answers only to 127.0.0.1 and localhost"
    origin = headers.get("origin")
    if origin is None:
        # Programs send none, and browsers leave it out only where nothing can be changed or read.
        return None
    name, port = _name_and_port(origin)
    # Its own pages under either name: pages at localhost call the API at 127.0.0.1.
    if name in OWN_NAMES and port == _name_and_port(f"http://{host}")[1]:
        return None
    return FOREIGN_PAGE, "this Prefect server takes no requests from pages of other sites"


def _name_and_port(address: str) -> tuple[str | None, int | None]:
    try:
        found = urlsplit(address)
        return found.hostname, found.port
    except ValueError:
        return None, None


def application() -> ASGIApp:
    """Return Prefect's application behind the check of names."""
    # By name, as uvicorn itself would load it: flows alone import Prefect.
    return OwnNamesOnly(import_from_string(PREFECT)())


def main(where: str) -> int:
    """Serve until told to stop; return the exit status."""
    _, _, port = where.partition("port:")
    listening = (
        socket.create_server(("127.0.0.1", int(port))) if port else socket.socket(fileno=int(where))
    )
    config = uvicorn.Config(
        application,
        factory=True,
        log_level="error",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    server.run(sockets=[listening])
    return 0 if server.started else DID_NOT_START


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
