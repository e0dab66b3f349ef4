"""A word to systemd, where that started us and wants one (`Type=notify`)."""

from __future__ import annotations

import contextlib
import os
import socket


def tell_systemd(words: str) -> None:
    """Say `READY=1` or `STOPPING=1`; does nothing where nobody listens."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    # An address that begins with an @ is no file.
    where = f"\0{address[1:]}" if address.startswith("@") else address
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        to.sendto(words.encode(), where)
