"""One TCP connection to a sandbox, spoken on by hand: what came back, byte by byte, and how it
ended. An HTTP library would tidy up just what the tests of faults want to see."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

PATIENCE = 30.0


@dataclass(frozen=True)
class Heard:
    """What came back, piece by piece as it arrived; `end` is closed, reset or silent."""

    pieces: list[bytes]
    end: str

    @property
    def data(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def head(self) -> str:
        return self.data.partition(b"\r\n\r\n")[0].decode().lower()

    @property
    def body(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[2]

    def header(self, name: str) -> str | None:
        said = [line.split(": ", 1)[1] for line in self.head.split("\r\n") if line.startswith(name)]
        return said[0] if said else None


class Line:
    """A connection that holds until one side ends it."""

    def __init__(self, ready: Mapping[str, Any]) -> None:
        where = urlsplit(ready["base_url"])
        self._key = ready["api_key"]
        self._socket = socket.create_connection((where.hostname, where.port), PATIENCE)

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, method: str, path: str, said: object = None, **headers: str) -> None:
        """Send one request."""
        body = b"" if said is None else json.dumps(said).encode()
        lines = [f"{method} {path} HTTP/1.1", "host: sandbox", f"authorization: Bearer {self._key}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        lines += [f"content-length: {len(body)}", "content-type: application/json", "", ""]
        self._socket.sendall("\r\n".join(lines).encode() + body)

    def hear(self, within: float = PATIENCE) -> Heard:
        """Listen until the other side ends the connection, or nothing comes any more."""
        self._socket.settimeout(within)
        pieces: list[bytes] = []
        while True:
            try:
                piece = self._socket.recv(65536)
            except ConnectionResetError:
                return Heard(pieces, "reset")
            except TimeoutError:
                return Heard(pieces, "silent")
            if not piece:
                return Heard(pieces, "closed")
            pieces.append(piece)

    def answer(self) -> Heard:
        """Listen to one whole answer that says its length, and leave the connection as it is."""
        self._socket.settimeout(PATIENCE)
        pieces: list[bytes] = []
        heard = Heard(pieces, "silent")
        while b"\r\n\r\n" not in heard.data or len(heard.body) < int(
            heard.header("content-length") or 0
        ):
            pieces.append(self._socket.recv(65536))
            assert pieces[-1], heard.data
        return heard
