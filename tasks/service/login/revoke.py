"""Takes a key back (RFC 7009). The answer says nothing, so it is not looked at: see `standing`."""

from __future__ import annotations

from functools import partial

from tasks.errors import CallsheetError
from tasks.service.login.discovery import discover
from tasks.service.login.endpoints import check_issuer, endpoints_of
from tasks.service.login.exchange import Exchange, NoAnswer


async def revoke(exchange: Exchange, auth_url: str, key: str) -> None:
    """Ask the auth server to revoke a key; whether it did is told by the service alone."""
    try:
        endpoints = await discover(exchange, auth_url)
        await exchange.patiently(partial(exchange.post_form, endpoints.revoke, {"token": key}))
    except CallsheetError:
        await _once_more(exchange, auth_url, key)


async def _once_more(exchange: Exchange, auth_url: str, key: str) -> None:
    """Ask at the address of the specification: better once too often than a key left alive."""
    try:
        check_issuer(auth_url)
        await exchange.post_form(endpoints_of(auth_url).revoke, {"token": key})
    except (NoAnswer, CallsheetError):
        return
