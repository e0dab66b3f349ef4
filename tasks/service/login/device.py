"""Path 2: the device authorization grant (RFC 8628; specification, section 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from tasks.errors import LoginError
from tasks.redact import register_secret
from tasks.service.login.endpoints import Endpoints
from tasks.service.login.exchange import Exchange
from tasks.service.login.polling import INTERVAL, LIFETIME, Pace, Say, poll
from tasks.service.login.replies import Grant, members, plain, seconds, text
from tasks.service.login.sentences import refusal

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


@dataclass(frozen=True, kw_only=True)
class UserCode:
    """What a person is told: go there, enter this. `complete` has the code in it already."""

    code: str
    address: str
    complete: str | None = None
    pace: Pace = field(default_factory=Pace)


Show = Callable[[UserCode], None]


async def log_in_by_device(
    exchange: Exchange,
    endpoints: Endpoints,
    *,
    client_name: str,
    scopes: Sequence[str],
    show: Show,
    say: Say,
) -> Grant:
    """Return what somebody approved at another screen; raise LoginError or Parked.

    `show` is called once, with the code to enter.
    """
    asked = {"client_name": client_name, "scope": " ".join(scopes)}
    answer = await exchange.patiently(partial(exchange.post_form, endpoints.device, asked))
    found = members(answer) or {}
    device_code = text(found, "device_code")
    if answer.status >= 300 or device_code is None:
        raise refusal(answer, "begin a login")
    register_secret(device_code)
    user_code = read_user_code(found, endpoints)
    show(user_code)
    form = {"grant_type": DEVICE_GRANT, "device_code": device_code}
    ask = partial(exchange.post_form, endpoints.token, form)
    return await poll(exchange, ask, user_code.pace, say=say)


def read_user_code(found: Mapping[str, Any], endpoints: Endpoints) -> UserCode:
    """Return the code and address for a person; raise LoginError when there is no code."""
    code = text(found, "user_code")
    if code is None:
        raise LoginError(
            "the auth server gave no code to enter", remedy="try `callsheet login --browser`"
        )
    complete = text(found, "verification_uri_complete")
    return UserCode(
        code=plain(code),
        address=_page(text(found, "verification_uri")) or endpoints.verification,
        complete=_page(complete),
        pace=Pace(
            interval=seconds(found.get("interval"), default=INTERVAL),
            lifetime=seconds(found.get("expires_in"), default=LIFETIME),
        ),
    )


def _page(address: str | None) -> str | None:
    """Return an address that a person may be sent to, else None."""
    if address is None or not address.isprintable() or " " in address:
        return None
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return address if parts.scheme in ("http", "https") and parts.hostname else None
