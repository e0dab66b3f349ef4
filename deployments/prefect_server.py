"""Prefect's server, on a socket on which the parent process already listens.

    python -m callsheet.deployments.prefect_server WHERE

WHERE is the number of the socket's file, as in `7`; on Windows, which passes none on, it is a port,
as in `port:4200`. A port that is bound first is no one else's: what answers there is this server.
"""

from __future__ import annotations

import socket
import sys

import uvicorn

#: How uvicorn says that an application did not start.
DID_NOT_START = 3


def main(where: str) -> int:
    """Serve until told to stop; return the exit status."""
    _, _, port = where.partition("port:")
    listening = (
        socket.create_server(("127.0.0.1", int(port))) if port else socket.socket(fileno=int(where))
    )
    config = uvicorn.Config(
        "prefect.server.api.server:create_app",
        factory=True,
        log_level="error",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    server.run(sockets=[listening])
    return 0 if server.started else DID_NOT_START


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
