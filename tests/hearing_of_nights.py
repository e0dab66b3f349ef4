"""Who hears of nights in tests: a mail server on this machine, a real one."""

from __future__ import annotations

import email
import email.policy
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import cast


@dataclass
class Mailbox:
    """What a mail server was handed; `refusing` has it take no mail at all."""

    port: int = 0
    letters: list[EmailMessage] = field(default_factory=list)
    refusing: bool = False
    is_secure: bool = False

    def address(self, to: str = "ann@example.com") -> str:
        """Return an address as apprise takes it."""
        scheme, more = ("mailtos", "&mode=ssl&verify=no") if self.is_secure else ("mailto", "")
        here = f"{scheme}://127.0.0.1:{self.port}"
        return f"{here}?from=callsheet@example.com&to={to}{more}"

    @property
    def subjects(self) -> list[str]:
        """The subjects of all mails, in order."""
        return [str(letter["Subject"]) for letter in self.letters]


@contextmanager
def mailbox(certificate: Path | None = None) -> Iterator[Mailbox]:
    """Run a mail server that keeps what it is sent; with a certificate, it speaks TLS alone."""
    box = Mailbox(is_secure=certificate is not None)

    class Talk(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 here")
            while line := self.rfile.readline():
                word = line.decode().split(None, 1)[0].upper()
                if word == "DATA":
                    self._say("354 go on")
                    self._take()
                elif word == "QUIT":
                    self._say("221 bye")
                    return
                elif word == "RCPT" and box.refusing:
                    self._say("550 nobody of that name")
                else:
                    self._say("250 fine")

        def _take(self) -> None:
            lines: list[bytes] = []
            while (line := self.rfile.readline()) not in (b".\r\n", b""):
                lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
            read = email.message_from_bytes(b"".join(lines), policy=email.policy.default)
            box.letters.append(cast("EmailMessage", read))
            self._say("250 taken")

        def _say(self, words: str) -> None:
            self.wfile.write(f"{words}\r\n".encode())

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Talk)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with _serving(server) as port:
        box.port = port
        yield box


@contextmanager
def _serving(server: socketserver.BaseServer) -> Iterator[int]:
    server.daemon_threads = True  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
