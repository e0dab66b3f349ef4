"""Where a request comes from, and the tokens it may have.

What a proxy says of it counts with `--behind-proxy` alone, and of a list only what the last proxy
added: the rest of it anybody may have written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import Scope

from callsheet.deployments.at import is_loopback, is_number
from callsheet.deployments.board.board import Board
from callsheet.deployments.tokens import could_be
from callsheet.tasks.runtime.errors import BadInput

_HOST = re.compile(r"(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One request: `origin` is ours as its browser sees it, `client` the address it came from."""

    origin: str
    client: str
    headers: Headers
    method: str
    path: str
    query: str

    @property
    def is_secure(self) -> bool:
        """Whether it came by https."""
        return self.origin.startswith("https://")

    @property
    def cookie_name(self) -> str:
        """What the session's cookie is called: boards of one machine must not share one."""
        if self.is_secure:
            return "__Host-callsheet"
        return f"callsheet-{urlsplit(self.origin).port or 80}"

    @property
    def session(self) -> str | None:
        """The session's token, if its cookie came along.

        Browsers send one machine's cookies to all of its ports: what another program there has set
        is skipped, whether it is malformed or has the name of ours.
        """
        for cookie in self.headers.get("cookie", "").split(";"):
            value = cookie_parser(cookie).get(self.cookie_name)
            if value is not None and could_be(value):
                return value
        return None

    @property
    def bearer(self) -> str | None:
        """The token of an `Authorization: Bearer`, if there is one."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.casefold() == "bearer" else None

    @property
    def changes(self) -> bool:
        """Whether it may change anything."""
        return self.method not in ("GET", "HEAD", "OPTIONS")

    @property
    def wants_page(self) -> bool:
        """Whether a person waits for the answer, and not a program."""
        called = self.path.startswith("/api/")
        return not called and "text/html" in self.headers.get("accept", "")

    @property
    def from_elsewhere(self) -> bool:
        """Whether a page of another site led here: a browser then keeps our cookie to itself."""
        return self.headers.get("sec-fetch-site") in ("cross-site", "same-site")

    @property
    def is_foreign(self) -> bool:
        """Whether a browser says that a page of another site sent it."""
        origin = self.headers.get("origin")
        return self.from_elsewhere if origin is None else origin != self.origin

    @property
    def is_vouched_for(self) -> bool:
        """Whether a browser says that a page of ours sent it."""
        return self.headers.get("origin") == self.origin and not self.from_elsewhere


def visit_of(scope: Scope, board: Board) -> Visit:
    """Return how a request came to a board."""
    headers = Headers(scope=scope)
    client = scope["client"][0] if scope.get("client") else ""
    origin = board.origin
    if board.behind_proxy:
        client = _last(headers, "x-forwarded-for") or client
        if not board.is_named:
            scheme = "https" if _last(headers, "x-forwarded-proto") == "https" else "http"
            said = (_last(headers, "x-forwarded-host"), headers.get("host"))
            host = next((one for one in said if one and _is_host(one)), None)
            origin = f"{scheme}://{host.lower()}" if host else origin
    elif not board.is_named and is_own_host(headers.get("host", ""), board):
        origin = f"http://{headers['host'].lower()}"
    return Visit(
        origin=origin,
        client=client,
        headers=headers,
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode("latin-1"),
    )


def is_own_host(host: str, board: Board) -> bool:
    """Whether the Host of a request is a name of ours.

    A page elsewhere may have its own name lead to this machine (DNS rebinding): a name that no one
    gave us is refused. An address as numbers cannot be anybody's name.
    """
    if not _is_host(host):
        return False
    ours = urlsplit(board.origin)
    if host.lower() == ours.netloc.lower():
        return True
    if board.behind_proxy:
        # The proxy has its own list of names; its origin is checked wherever something changes.
        return not board.is_named
    name, port = _split(host)
    if port != (ours.port or 80):
        return False
    if is_loopback(ours.hostname or ""):
        return name.lower() in _LOOPBACK
    return not board.is_named and is_number(name)


def origin_of_site(address: str) -> str:
    """Return the origin that someone says the board has; raise BadInput for no such thing."""
    said = urlsplit(address)
    if said.scheme not in ("http", "https") or not said.netloc or "@" in said.netloc:
        raise BadInput(f'--url "{address}" is not an address; write it like https://board.example')
    if said.path.strip("/") or said.query or said.fragment:
        raise BadInput("--url is a site of its own, such as https://board.example, without a path")
    return f"{said.scheme}://{said.netloc.lower()}"


def _is_host(text: str) -> bool:
    return _HOST.fullmatch(text) is not None and _split(text)[1] < 65536


def _split(host: str) -> tuple[str, int]:
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        return host, 80
    return name, int(port)


def _last(headers: Headers, name: str) -> str | None:
    """Return what the last proxy said."""
    values = ",".join(headers.getlist(name)).split(",")
    return values[-1].strip() or None
