"""Asks the service itself about a key, with free reads alone: is it taken, and whose is it.

Whether a key may write or use the helpers cannot be looked up without doing so; that is told by
the grant, by `GET /me`, whose shape the specification does not show, or not at all. Taking a key
back (RFC 7009) is answered with 200 whatever happens, so that answer is not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

import httpx

from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.service.login.discovery import check_issuer, discover, endpoints_of
from callsheet.tasks.service.login.exchange import Exchange, NoAnswer, in_trouble
from callsheet.tasks.service.login.responses import members, plain
from callsheet.tasks.service.operations import LIST, ME, Operation
from callsheet.tasks.service.outcome import of_exception
from callsheet.tasks.service.request import Request, Wire
from callsheet.tasks.service.response import Response


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


async def key_status(
    base_url: str, key: str, *, transport: httpx.AsyncBaseTransport | None = None
) -> KeyStatus:
    """Return what the service makes of a key, found with one free read (`GET /videos`)."""
    answer = await _read(LIST, base_url, key, transport)
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


async def owner_of(
    base_url: str, key: str, *, transport: httpx.AsyncBaseTransport | None = None
) -> Owner:
    """Return what `GET /me` says of the key, where it says it in a way we know."""
    answer = await _read(ME, base_url, key, transport)
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


async def _read(
    operation: Operation, base_url: str, key: str, transport: httpx.AsyncBaseTransport | None
) -> Response | str:
    """Return the answer to one read, or in words why there is none."""
    wire = Wire(base_url=base_url, api_key=key, transport=transport, limit=2)
    try:
        return await wire.send(Request(operation=operation, target=operation.path))
    except Exception as error:
        if of_exception(error) is None:
            raise
        return "the service could not be reached, or gave no whole answer"
    finally:
        if transport is None:
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
