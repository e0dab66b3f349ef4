"""Finds the auth server and its addresses, and asks the service about a key.

Both documents may be absent; the paths of the specification (section 5) hold then. A document
that is there and is wrong is never worked around. A code or a token goes to nothing but https,
save for an auth server that is itself on this machine and speaks http, as the sandbox does.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from callsheet.tasks.runtime.errors import CallsheetError, ConfigurationError
from callsheet.tasks.service.failures import of_exception
from callsheet.tasks.service.login.exchange import Exchange, NoAnswer, in_trouble, members, plain
from callsheet.tasks.service.operations import LIST, ME, Operation
from callsheet.tasks.service.request import Request, Wire
from callsheet.tasks.service.response import Response

#: Our name: (the name in the metadata of RFC 8414, the path of the specification's section 5).
_PATHS = {
    "authorize": ("authorization_endpoint", "/api/oauth/authorize"),
    "token": ("token_endpoint", "/api/oauth/token"),
    "register": ("registration_endpoint", "/api/oauth/register"),
    "device": ("device_authorization_endpoint", "/api/oauth/device_authorization"),
    "revoke": ("revocation_endpoint", "/api/oauth/revoke"),
}


@dataclass(frozen=True, kw_only=True)
class Endpoints:
    """The addresses of one auth server."""

    issuer: str
    authorize: str
    token: str
    register: str
    device: str
    revoke: str
    #: Whether the server takes the one challenge method that is safe; so says the specification.
    takes_s256: bool = True

    @property
    def identity(self) -> str:
        """Where a claim begins."""
        return f"{self.issuer}/agent/identity"

    @property
    def claim(self) -> str:
        """Where a claim gets a fresh user code."""
        return f"{self.issuer}/agent/identity/claim"

    @property
    def verification(self) -> str:
        """The page where a person enters a user code."""
        return f"{self.issuer}/device"


def endpoints_of(issuer: str, metadata: Mapping[str, Any] | None = None) -> Endpoints:
    """Return the addresses `metadata` names, and the specification's where it names none.

    Raises ConfigurationError for an address that no secret may be sent to.
    """
    metadata = metadata or {}
    found = {}
    for name, (member, path) in _PATHS.items():
        named = metadata.get(member)
        found[name] = f"{issuer}{path}" if named is None else _checked(issuer, member, named)
    methods = metadata.get("code_challenge_methods_supported")
    takes_s256 = not isinstance(methods, list) or "S256" in methods
    return Endpoints(issuer=issuer, takes_s256=takes_s256, **found)


def check_issuer(auth_url: str) -> None:
    """Raise ConfigurationError for an auth server that no secret may be sent to."""
    if not is_safe(auth_url, beside=auth_url):
        raise ConfigurationError(
            f"the auth server {plain(auth_url)} is not reached over https",
            remedy="set CALLSHEET_AUTH_URL to its https address; http is for this machine alone",
        )


def is_safe(url: object, *, beside: str) -> bool:
    """Return whether secrets may go to `url`: https, or loopback where `beside` is that too."""
    if not isinstance(url, str) or not url.isprintable() or not url.isascii():
        return False
    try:
        parts, near = urlsplit(url), urlsplit(beside)
        _ = parts.port
    except ValueError:
        return False
    if parts.username is not None or parts.fragment or not parts.hostname:
        return False
    if parts.scheme == "https":
        return True
    loopback = is_loopback(url) and is_loopback(beside)
    return loopback and parts.scheme == near.scheme == "http"


def is_loopback(url: str) -> bool:
    """Return whether an address is this very machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _checked(issuer: str, member: str, url: object) -> str:
    if is_safe(url, beside=issuer):
        return str(url)
    raise ConfigurationError(
        f'the auth server names an address that is not https: {member} "{plain(str(url))}"',
        remedy="nothing was sent there; check CALLSHEET_AUTH_URL, or ask the service's operator",
    )


_SERVER = "/.well-known/oauth-authorization-server"
_RESOURCE = "/.well-known/oauth-protected-resource"
_CHALLENGE = re.compile(r'\bresource_metadata="?([^\s",]+)"?', re.I)


async def find_auth_url(exchange: Exchange, mcp_url: str) -> str:
    """Return the auth server that the MCP server names (RFC 9728).

    Looked for at `{mcp_url}/.well-known/...`, then where the server's 401 points. Raises
    ConfigurationError when it names none, or is not the server that was asked.
    """
    found = await _document(exchange, mcp_url + _RESOURCE)
    if found is None:
        pointed = _pointer(await exchange.with_retries(partial(exchange.get, mcp_url)))
        if pointed and is_safe(pointed, beside=mcp_url):
            found = await _document(exchange, pointed)
    servers = (found or {}).get("authorization_servers")
    servers = [server for server in servers if isinstance(server, str)] if servers else []
    if len(servers) != 1:
        named = ": " + ", ".join(map(plain, servers)) if servers else ""
        raise ConfigurationError(
            f"{mcp_url} names {len(servers) or 'no'} auth server{'s' * (len(servers) != 1)}{named}",
            remedy="set CALLSHEET_AUTH_URL to the service's login root",
        )
    resource = str((found or {}).get("resource"))
    if resource.removesuffix("/") != mcp_url:
        raise ConfigurationError(
            f'{mcp_url} shows the metadata of another server: its resource is "{plain(resource)}"',
            remedy="check CALLSHEET_MCP_URL, or set CALLSHEET_AUTH_URL",
        )
    return str(servers[0]).removesuffix("/")


async def discover(exchange: Exchange, auth_url: str) -> Endpoints:
    """Return the addresses of the auth server at `auth_url` (RFC 8414).

    Raises ConfigurationError when the document there is another issuer's, or names addresses that
    no secret may go to; Parked when the server is in trouble.
    """
    check_issuer(auth_url)
    found = await _document(exchange, auth_url + _SERVER)
    if found is None:
        return endpoints_of(auth_url)
    issuer = found.get("issuer")
    if issuer != auth_url:
        raise ConfigurationError(
            f'the auth server at {auth_url} calls itself "{plain(str(issuer))}"',
            remedy="set CALLSHEET_AUTH_URL to exactly the address of the service's documentation",
        )
    return endpoints_of(auth_url, found)


def local_auth_url(base_url: str) -> str | None:
    """Return the auth root of a service on this machine, whose parts share one origin.

    Only a loopback base address that ends in /api/v1 says where its login is; None for any other.
    """
    if not is_loopback(base_url) or not base_url.endswith("/api/v1"):
        return None
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc}"


async def _document(exchange: Exchange, url: str) -> Mapping[str, Any] | None:
    """Return a metadata document, or None when there is none.

    A page in its place (many servers answer any unknown path with their start page) is none.
    """
    answer = await exchange.with_retries(partial(exchange.get, url))
    if 300 <= answer.status < 400:
        raise ConfigurationError(
            f"{url} is redirected ({answer.status}), which is not followed",
            remedy="set the address that it is redirected to",
        )
    return members(answer) if answer.status == 200 else None


def _pointer(answer: Response) -> str | None:
    found = _CHALLENGE.search(answer.headers.get("www-authenticate", ""))
    return found[1] if found and answer.status == 401 else None


# Asks the service itself about a key, with free reads alone: is it taken, and whose is it.
#
# Whether a key may write or use the helpers cannot be looked up without doing so; that is told by
# the grant, by `GET /me`, whose shape the specification does not show, or not at all. Taking a key
# back (RFC 7009) is answered with 200 whatever happens, so that answer is not looked at.


@dataclass(frozen=True, kw_only=True)
class Owner:
    """What the service says of a key, beyond the specification; None where it does not."""

    organisation: str | None = None
    scopes: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class KeyStatus:
    """What the service makes of a key.

    `accepted` is None where it could not be found out, and `words` say why; `later` then says
    whether asking again may help. `clock` is the moment of the answer by the service (Unix
    seconds), where it told.
    """

    accepted: bool | None
    may_read: bool | None = None
    words: str = ""
    later: bool = False
    clock: float | None = None


async def key_status(base_url: str, key: str) -> KeyStatus:
    """Return what the service makes of a key, found with one free read (`GET /videos`)."""
    answer = await _read(LIST, base_url, key)
    if isinstance(answer, str):
        return KeyStatus(accepted=None, words=answer, later=True)
    if answer.status < 300:
        return KeyStatus(accepted=True, may_read=True, clock=_clock(answer))
    if answer.status == 401:
        return KeyStatus(accepted=False, words="the service does not accept the key (401)")
    if answer.status == 403:
        return KeyStatus(accepted=True, may_read=False)
    words = f"the service answered {answer.status}: {plain(answer.words)}"
    return KeyStatus(accepted=None, words=words, later=in_trouble(answer))


async def owner_of(base_url: str, key: str) -> Owner:
    """Return what `GET /me` says of the key, where it says it in a way we know."""
    answer = await _read(ME, base_url, key)
    found = None if isinstance(answer, str) or answer.status >= 300 else members(answer)
    if found is None:
        return Owner()
    inner = found.get("key")
    scopes = _scopes(inner) if isinstance(inner, Mapping) else None
    return Owner(organisation=_name(found), scopes=scopes or _scopes(found))


def _clock(answer: Response) -> float | None:
    """Return the moment that an answer says it was made (RFC 9110, 6.6.1)."""
    with suppress(KeyError, TypeError, ValueError):
        return parsedate_to_datetime(answer.headers["date"]).timestamp()
    return None


async def _read(operation: Operation[object], base_url: str, key: str) -> Response | str:
    """Return the answer to one read, or in words why there is none."""
    wire = Wire(base_url=base_url, api_key=key, limit=2)
    try:
        return await wire.send(Request(operation=operation, target=operation.path))
    except Exception as error:
        if of_exception(error) is None:
            raise
        return "the service could not be reached, or gave no whole answer"
    finally:
        await wire.aclose()


def _name(found: Mapping[str, Any]) -> str | None:
    for member in ("organization", "organisation", "org", "organization_name", "org_name"):
        value = found.get(member)
        if isinstance(value, Mapping):
            value = value.get("name") or value.get("id")
        if isinstance(value, str) and value.strip():
            return plain(value)
    return None


def _scopes(found: Mapping[str, Any]) -> tuple[str, ...] | None:
    said = found.get("scopes", found.get("scope"))
    if isinstance(said, str):
        said = said.split()
    if not isinstance(said, list) or not all(isinstance(scope, str) for scope in said):
        return None
    return tuple(plain(scope) for scope in said)


async def revoke(exchange: Exchange, auth_url: str, key: str) -> None:
    """Ask the auth server to revoke a key; whether it did is told by the service alone."""
    try:
        endpoints = await discover(exchange, auth_url)
        await exchange.with_retries(partial(exchange.post_form, endpoints.revoke, {"token": key}))
    except CallsheetError:
        await _once_more(exchange, auth_url, key)


async def _once_more(exchange: Exchange, auth_url: str, key: str) -> None:
    """Ask at the address of the specification: better once too often than a key left alive."""
    try:
        check_issuer(auth_url)
        await exchange.post_form(endpoints_of(auth_url).revoke, {"token": key})
    except (NoAnswer, CallsheetError):
        return
