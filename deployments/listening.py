"""A socket that a server of ours listens on, and the address that others reach it by."""

from __future__ import annotations

import os
import socket
from typing import Any


def listen_on(family: int, place: Any, *, backlog: int) -> socket.socket:
    """Return a socket that listens; raises OSError or OverflowError where that cannot be had."""
    # The protocol is named because asyncio turns off Nagle's delay, 40 ms an answer, only then.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            # Elsewhere it would let two programs have the same port.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
        made.listen(backlog)
    except (OSError, OverflowError):
        made.close()
        raise
    return made


def inherited(number: int) -> socket.socket:
    """Return the socket that whoever started this process listens on, by the number of its file."""
    os.set_inheritable(number, False)
    return socket.socket(fileno=number)


def origin_of(listening: socket.socket) -> str:
    """Return the address that a socket listens on, as a URL."""
    return origin_at(*listening.getsockname()[:2])


def origin_at(host: str, port: int) -> str:
    """Return the URL of what listens there."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
