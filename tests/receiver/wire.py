"""Clients of the receiver, by hand: bytes onto a socket, bytes back."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import itertools
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from tests.receiver.hearing import SECRET

_FRESH = itertools.count(1)


@dataclass(frozen=True)
class Answer:
    """The answer as bytes; status 0 where the connection ended without one."""

    raw: bytes

    @property
    def status(self) -> int:
        return int(self.raw.split()[1]) if self.raw else 0

    @property
    def body(self) -> bytes:
        return self.raw.partition(b"\r\n\r\n")[2]


def fresh(prefix: str = "vid_t") -> str:
    """Return an id that no other test has."""
    return f"{prefix}{next(_FRESH)}"


def signature(body: bytes, secret: str = SECRET) -> bytes:
    """Sign as section 6 of the specification says."""
    return b"sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode()


def head(
    body: bytes,
    *,
    signed: bytes | None = None,
    event: str | None = None,
    more: Iterable[tuple[bytes, bytes]] = (),
    length: bool = True,
    method: bytes = b"POST",
    path: bytes = b"/hooks/nonce",
    vendor: bytes = b"Service",
) -> bytes:
    """Return the head of a delivery; `signed` is its signature header, b"" for none."""
    lines = [method + b" " + path + b" HTTP/1.1", b"Host: receiver"]
    signed = signature(body) if signed is None else signed
    if signed:
        lines.append(b"X-" + vendor + b"-Signature: " + signed)
    lines.append(b"X-" + vendor + b"-Event-Id: " + (event or fresh("evt_")).encode())
    lines.append(b"X-" + vendor + b"-Event: video.ready")
    lines += [name + b": " + value for name, value in more]
    lines.append(b"Content-Length: %d" % len(body) if length else b"Transfer-Encoding: chunked")
    return b"\r\n".join([*lines, b"", b""])


def post(address: tuple[str, int], body: bytes, **said: object) -> Answer:
    """Deliver a body and return the answer."""
    return send(address, head(body, **said) + body)  # type: ignore[arg-type]


def send(address: tuple[str, int], *pieces: bytes, timeout: float = 20) -> Answer:
    """Write bytes onto a new connection, and read until it is closed."""
    with socket.create_connection(address, timeout=timeout) as connection:
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
        return read(connection)


def read(connection: socket.socket) -> Answer:
    """Read until the other side closes; what came before a reset counts."""
    said = b""
    with contextlib.suppress(ConnectionError):
        while more := connection.recv(65536):
            said += more
    return Answer(said)
