"""Finds the auth server and its addresses: RFC 9728 from the MCP root, RFC 8414 from the auth root.

Both documents may be absent; the paths of the specification (section 5) hold then. A document that
is there and is wrong is never worked around.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from tasks.errors import ConfigurationError
from tasks.service.login.endpoints import (
    Endpoints,
    check_issuer,
    endpoints_of,
    is_loopback,
    is_safe,
)
from tasks.service.login.exchange import Exchange
from tasks.service.login.replies import members, plain
from tasks.service.response import Response

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
        pointed = _pointer(await exchange.patiently(partial(exchange.get, mcp_url)))
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


def auth_url_beside(base_url: str) -> str | None:
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
    answer = await exchange.patiently(partial(exchange.get, url))
    if 300 <= answer.status < 400:
        raise ConfigurationError(
            f"{url} is redirected ({answer.status}), which is not followed",
            remedy="set the address that it is redirected to",
        )
    return members(answer) if answer.status == 200 else None


def _pointer(answer: Response) -> str | None:
    found = _CHALLENGE.search(answer.headers.get("www-authenticate", ""))
    return found[1] if found and answer.status == 401 else None
