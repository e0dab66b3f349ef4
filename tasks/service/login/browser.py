"""Login with a browser on this machine: authorization code with PKCE and a local redirect.

The order is what makes it safe: bind, register the exact address, only then open the browser.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import html
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from hmac import compare_digest
from typing import Generic, Literal, TypeVar
from urllib.parse import urlencode

from aiohttp import web

from callsheet.tasks.runtime.errors import ConfigurationError, LoginError
from callsheet.tasks.runtime.redact import register_secret
from callsheet.tasks.service.login.codes import Say
from callsheet.tasks.service.login.discovery import Endpoints
from callsheet.tasks.service.login.exchange import (
    Exchange,
    Grant,
    members,
    read_grant,
    refusal,
    text,
    told,
)

RandomBytes = Callable[[int], bytes]
#: Bytes of chance in a verifier; 86 characters of the 128 allowed.
VERIFIER_BYTES = 64


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A verifier, which only the token endpoint gets to see, and its challenge."""

    verifier: str = field(repr=False)
    challenge: str


def new_proof(random_bytes: RandomBytes) -> Proof:
    """Return a fresh verifier and its challenge."""
    verifier = unguessable(random_bytes, VERIFIER_BYTES)
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return Proof(verifier=verifier, challenge=_urlsafe(digest))


def unguessable(random_bytes: RandomBytes, count: int = 32) -> str:
    """Return a text of `count` random bytes that will never be shown."""
    made = _urlsafe(random_bytes(count))
    register_secret(made)
    return made


def _urlsafe(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


#: Opens an address for a person; returns False when no browser could be opened.
Opener = Callable[[str], Awaitable[bool]]
#: How long a person may take, in seconds.
LIMIT = 300.0


async def log_in_by_browser(
    exchange: Exchange,
    endpoints: Endpoints,
    *,
    client_name: str,
    scopes: Sequence[str],
    open_browser: Opener,
    say: Say,
    random_bytes: RandomBytes = secrets.token_bytes,
    limit: float = LIMIT,
) -> Grant:
    """Return what someone approved in the browser; raise LoginError or Parked."""
    if not endpoints.takes_s256:
        raise ConfigurationError(
            f"the auth server {endpoints.issuer} does not take S256 challenges",
            remedy="use `callsheet login --device`",
        )
    proof, state = new_proof(random_bytes), unguessable(random_bytes)
    path = f"/callback/{unguessable(random_bytes, 16)}"
    judge = partial(_judge, state=state, issuer=endpoints.issuer)
    async with Landing.open(path, judge) as here:
        client_id = await _register(exchange, endpoints, client_name, here.address)
        query = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": here.address,
            "code_challenge": proof.challenge,
            "code_challenge_method": "S256",
            "state": state,
            "scope": " ".join(scopes),
        }
        joint = "&" if "?" in endpoints.authorize else "?"
        address = f"{endpoints.authorize}{joint}{urlencode(query)}"
        say(f"approve the login in your browser; if none opens, go to\n  {address}")
        opening = asyncio.ensure_future(_open(open_browser, address, say))
        try:
            code = await here.brought(limit=limit)
        finally:
            opening.cancel()
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": here.address,
        "client_id": client_id,
        "code_verifier": proof.verifier,
    }
    return await _redeem(exchange, endpoints, form)


def _judge(query: Mapping[str, str], *, state: str, issuer: str) -> str:
    """Return the code the browser brought; raise LoginError for anything but our own answer."""
    if error := query.get("error"):
        raise told(error, query.get("error_description", ""))
    brought = query.get("state", "")
    if not compare_digest(brought.encode(), state.encode()):
        raise LoginError(
            "what the browser brought is not the answer to this login, so it was not used",
            remedy="run `callsheet login` again, and approve it in the page that opens",
        )
    # RFC 9207: a server that says who it is must be the one that was asked.
    if query.get("iss", issuer) != issuer:
        raise LoginError(
            "the browser brought an answer of another auth server, so it was not used",
            remedy="run `callsheet login` again",
        )
    code = query.get("code")
    if not code:
        raise LoginError(
            "the browser brought no code",
            remedy="run `callsheet login` again, or `callsheet login --device`",
        )
    register_secret(code)
    return code


async def _register(
    exchange: Exchange, endpoints: Endpoints, client_name: str, address: str
) -> str:
    wanted = {"client_name": client_name, "redirect_uris": [address]}
    answer = await exchange.with_retries(partial(exchange.post_json, endpoints.register, wanted))
    client_id = text(members(answer) or {}, "client_id")
    if answer.status >= 300 or client_id is None:
        raise refusal(answer, "register this client")
    return client_id


async def _open(open_browser: Opener, address: str, say: Say) -> None:
    if not await open_browser(address):
        say("no browser could be opened; open the address above yourself")


async def _redeem(exchange: Exchange, endpoints: Endpoints, form: Mapping[str, str]) -> Grant:
    # A code works once: it is sent again only where it is proved not to have arrived.
    send = partial(exchange.post_form, endpoints.token, form)
    answer = await exchange.with_retries(send, only_unsent=True)
    grant = read_grant(answer)
    if grant is None:
        raise refusal(answer, "turn the approval into a key")
    return grant


#: How long a browser that cannot be opened may take to say so, in seconds.
SAYS_SO = 5.0
_PROGRAM = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"


async def open_browser(address: str) -> bool:
    """Open a page for anyone who sits here; return False where it is sure that no one will see it.

    In a process of its own: some browsers write to our standard output, which is for one document,
    end with Ctrl+C, or keep the program that called them waiting until they are closed.
    """
    # Not asyncio's: that one ends its children when the loop ends.
    child = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-I", "-c", _PROGRAM, address],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    for _ in range(int(SAYS_SO * 10)):
        if child.poll() is not None:
            return child.returncode == 0
        await asyncio.sleep(0.1)
    return True


Way = Literal["browser", "device"]
_SSH = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


def fitting_way(environ: Mapping[str, str], *, platform: str, terminal: bool) -> tuple[Way, str]:
    """Return the way, and why it is this one, to be read on after "because".

    `terminal` says whether someone sits at one; `platform` is `sys.platform`'s word.
    """
    if any(environ.get(name) for name in _SSH):
        return "device", "this is an SSH session, and its browser is on another machine"
    if not terminal:
        return "device", "there is no terminal to ask at"
    shown = environ.get("BROWSER") or any(environ.get(name) for name in _DISPLAYS)
    if platform not in ("darwin", "win32") and not shown:
        return "device", "there is no display to open a browser on"
    return "browser", "there is a display to open a browser on"


# One address on this machine that a browser comes back to, once (RFC 8252, section 7.3).
#
# It is bound before it is registered, so that the exact address, port and all, can be; its path is
# random, so that no other page can find it. The browser gets a small page; nothing is kept open.


T = TypeVar("T")


class Landing(Generic[T]):
    """The address, and what the browser brought there. Made by `Landing.open`."""

    def __init__(self, path: str, judge: Callable[[Mapping[str, str]], T]) -> None:
        self.address = ""
        self._path = path
        self._judge = judge
        self._brought: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, path: str, judge: Callable[[Mapping[str, str]], T]
    ) -> AsyncIterator[Landing[T]]:
        """Listen on a free port of 127.0.0.1 for one visit to `path`; stop however this ends.

        `judge` turns the visit's query into what is wanted of it, or raises LoginError.
        """
        made = cls(path, judge)
        # The page may still be on its way; a connection without a request is not waited for.
        runner = web.ServerRunner(web.Server(made._answer, access_log=None), shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            made.address = f"http://127.0.0.1:{runner.addresses[0][1]}{path}"
            yield made
        finally:
            await runner.cleanup()
            if made._brought.done() and not made._brought.cancelled():
                # Looked at, so that asyncio does not report an error no one asked for.
                made._brought.exception()

    async def brought(self, *, limit: float) -> T:
        """Return what `judge` makes of the one visit, or raise what it raised.

        Raises LoginError when no one came within `limit` seconds.
        """
        try:
            async with asyncio.timeout(limit):
                return await self._brought
        except TimeoutError:
            raise LoginError(
                f"the login was not approved within {limit:g} s",
                remedy="run `callsheet login` again, or `callsheet login --device`",
            ) from None

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path != self._path:
            return _page(404, "Nothing is here", "This address belongs to a login of Callsheet.")
        if request.method != "GET":
            return _page(405, "Not like this", "Go back to the page you came from.")
        if self._brought.done():
            return _page(410, "Used before", "This login has been dealt with.")
        try:
            self._brought.set_result(self._judge(request.query))
        except LoginError as error:
            self._brought.set_exception(error)
            return _page(400, "Not logged in", f"{error}.")
        words = "Callsheet continues in your terminal. You can close this page."
        return _page(200, "Approved", words)


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Callsheet: {title}</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem;
color:#222;background:#fff}}@media(prefers-color-scheme:dark){{body{{color:#eee;background:#181818}}}}
</style></head><body><main><h1>{title}</h1><p>{words}</p></main></body></html>
"""
#: The address of this page holds the code: no one is told of it, nothing is loaded.
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "X-Content-Type-Options": "nosniff",
    "Connection": "close",
}


def _page(status: int, title: str, words: str) -> web.Response:
    text = _PAGE.format(title=html.escape(title), words=html.escape(words))
    return web.Response(status=status, text=text, content_type="text/html", headers=_HEADERS)
