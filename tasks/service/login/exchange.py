"""Requests to the auth server, and what its answers mean.

One request, one whole answer; no redirect is followed, no cookie kept. Owns how often a request is
repeated. What is sent here are codes and tokens, so no exception that leaves this file has a
request, an address with a query, or a body.
"""

from __future__ import annotations

import asyncio
import json
import math
import random as chance
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import aiohttp
from yarl import URL

from callsheet.tasks.runtime.connections import Connections, address
from callsheet.tasks.runtime.errors import (
    CallsheetError,
    ConfigurationError,
    LoginError,
    Parked,
    shorten,
)
from callsheet.tasks.runtime.process import Clock, Random, Sleep, own_version, utc_now
from callsheet.tasks.runtime.redact import redact, register_secret
from callsheet.tasks.runtime.retry import RetryPolicy, retry, retry_after
from callsheet.tasks.service.failures import Outcome, of_exception
from callsheet.tasks.service.response import Response, Unparsable

#: One exchange may take so long, in seconds, however its answer drips.
LONGEST = 60.0
#: For a request that made nothing yet.
POLICY = RetryPolicy(attempts=3, first=1.0, factor=3.0, jitter=0.0)
#: What asks to be left alone for longer, in seconds, is told to a person instead of waited for.
LONGEST_WAIT = 30.0
#: Where the service does not say when to come back, in seconds.
LATER = 60.0
#: For a connection to be made, and without a byte, in seconds.
_CONNECT, _READ = 10.0, 30.0


class NoAnswer(Exception):
    """No whole answer came back; `left` is False where the request is proved not to have left."""

    def __init__(self, host: str, *, left: bool) -> None:
        super().__init__(f"{host} {'did not answer' if left else 'could not be reached'}")
        self.left = left


class Exchange:
    """The connections of one login, and its time. Use it as `async with`."""

    def __init__(
        self,
        *,
        sleep: Sleep = asyncio.sleep,
        clock: Clock = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
        random: Random = chance.random,
        longest: float = LONGEST,
    ) -> None:
        agent = {"user-agent": f"callsheet/{own_version()}"}
        self._connections = Connections(
            {**_HEADERS, **agent}, limit=4, connect=_CONNECT, pool=_READ
        )
        self._longest = longest
        self.random = random
        self.sleep = sleep
        self.clock = clock
        self.monotonic = monotonic

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connections.aclose()

    async def get(self, url: str) -> Response:
        """Read a public document; raise NoAnswer."""
        return await self._send("GET", url, None, {})

    async def post_form(self, url: str, members: Mapping[str, str]) -> Response:
        """Send a form; raise NoAnswer."""
        body = urlencode(members).encode()
        return await self._send("POST", url, body, _FORM)

    async def post_json(self, url: str, members: Mapping[str, Any]) -> Response:
        """Send a JSON document; raise NoAnswer."""
        return await self._send("POST", url, json.dumps(members).encode(), _JSON)

    async def with_retries(
        self, send: Callable[[], Awaitable[Response]], *, only_unsent: bool = False
    ) -> Response:
        """Return the response to `send()`, sent up to three times while the service is in trouble.

        With `only_unsent`, for what works once, it is repeated only where it never left. Raises
        Parked when the trouble stays, or is to stay for long.
        """

        async def attempt() -> Response | NoAnswer:
            try:
                return await send()
            except NoAnswer as silence:
                return silence

        def again(result: Response | NoAnswer) -> bool:
            if isinstance(result, NoAnswer):
                return not (only_unsent and result.left)
            return in_trouble(result) and not only_unsent and self.told(result) <= LONGEST_WAIT

        result = await retry(
            attempt,
            POLICY,
            again=again,
            at_least=lambda result: self.told(result) if isinstance(result, Response) else 0.0,
            sleep=self.sleep,
            random=self.random,
        )
        if isinstance(result, NoAnswer):
            raise self.trouble(str(result))
        if in_trouble(result):
            raise self.trouble(f"it answered {result.status}", result)
        return result

    def told(self, response: Response) -> float:
        """Return how many seconds the server asks to be left alone."""
        return retry_after(response.headers, now=self.clock()) or 0.0

    def trouble(self, words: str, response: Response | None = None) -> CallsheetError:
        """Return the error for an auth server that is in trouble: nothing is lost, come back."""
        told = self.told(response) if response else 0.0
        return Parked(
            f"the auth server is in trouble ({words}); you were not logged in",
            until=self.clock() + timedelta(seconds=told or LATER),
            remedy="run the same command again then; if this stays so, check CALLSHEET_AUTH_URL",
        )

    async def _send(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        host = urlsplit(url).netloc
        try:
            async with asyncio.timeout(self._longest):
                came = await self._connections.exchange(
                    _address(url), method=method, headers=headers, body=body, read=_READ,
                    decompress=True,
                )  # fmt: skip
                content = await came.read()
        except Exception as cause:
            outcome = Outcome.LOST if isinstance(cause, TimeoutError) else of_exception(cause)
            if outcome is None:
                raise
        else:
            return Response(came.status, came.headers, content)
        if outcome is Outcome.UNSENDABLE:
            raise ConfigurationError(
                f"{host} cannot be spoken to: its address or its certificate is not right",
                remedy="check CALLSHEET_AUTH_URL",
            )
        raise NoAnswer(host, left=outcome is not Outcome.UNREACHED)


def _address(url: str) -> URL:
    try:
        return address(url)
    except ValueError:
        raise aiohttp.InvalidURL(url) from None


_FORM = {"content-type": "application/x-www-form-urlencoded"}
_JSON = {"content-type": "application/json"}
_HEADERS = {"accept": "application/json", "accept-encoding": "identity"}


def in_trouble(response: Response) -> bool:
    """Return whether the same request may succeed later."""
    return response.status in (408, 429) or response.status >= 500


# Reads what the auth server says, and has a sentence for every refusal of it.
#
# Errors are decided on their `error` member, whatever the status: the specification (section 5)
# names codes and hardly any statuses; RFC 6749, 7591 and 8628 name the others.


KEY_PREFIX = "mav_"


@dataclass(frozen=True, kw_only=True)
class Grant:
    """What every path of a login ends with; `scopes` is None where no one said.

    `lifetime` is in seconds, None where the answer names none.
    """

    key: str = field(repr=False)
    scopes: tuple[str, ...] | None = None
    lifetime: float | None = None


def members(answer: Response) -> Mapping[str, Any] | None:
    """Return the members of a JSON object, out of the REST envelope if it is in one; else None."""
    try:
        found = answer.json()
    except Unparsable:
        return None
    if not isinstance(found, dict):
        return None
    inner = found.get("data")
    return inner if isinstance(inner, dict) and not found.get("error") else found


def error_code(answer: Response) -> str | None:
    """Return the machine code of a refusal, bare (RFC 6749) or in the envelope; None without."""
    error = (members(answer) or {}).get("error")
    if isinstance(error, dict):
        error = error.get("code")
    return plain(error)[:64] if isinstance(error, str) and error else None


def error_words(answer: Response) -> str:
    """Return what the server says of a refusal in words; empty when it says nothing."""
    found = members(answer) or {}
    error = found.get("error")
    said = error.get("message") if isinstance(error, dict) else found.get("error_description")
    return plain(said) if isinstance(said, str) else ""


def text(found: Mapping[str, Any], name: str) -> str | None:
    """Return a member that is a text with something in it, else None."""
    value = found.get(name)
    return value.strip() if isinstance(value, str) and value.strip() else None


def seconds(value: object, *, default: float) -> float:
    """Return a number of seconds above zero, from a number or a text of one."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return default
    usable = math.isfinite(number) and number > 0 and not isinstance(value, bool)
    return number if usable else default


def read_grant(answer: Response) -> Grant | None:
    """Return the grant in a token answer; None when it holds no token at all.

    Raises LoginError when what it holds is no key of this service.
    """
    found = members(answer) or {}
    token = text(found, "access_token")
    if token is None or answer.status >= 300:
        return None
    register_secret(token)
    kind = text(found, "token_type") or "Bearer"
    if kind.lower() != "bearer" or not is_key(token):
        raise LoginError(
            "the auth server answered with something that is no key of the service",
            remedy="check that CALLSHEET_AUTH_URL and CALLSHEET_BASE_URL are the same service's",
        )
    scope = found.get("scope")
    scopes = tuple(plain(scope).split()) if isinstance(scope, str) else None
    lifetime = seconds(found.get("expires_in"), default=0.0)
    return Grant(key=token, scopes=scopes, lifetime=lifetime or None)


def is_key(token: str) -> bool:
    """Return whether a text has the form of a key (specification, section 5, rule 2)."""
    rest = token.removeprefix(KEY_PREFIX)
    return (
        rest != token
        and bool(rest)
        and token.isascii()
        and token.isprintable()
        and " " not in token
    )


def plain(said: str) -> str:
    """Return what a server said as one short line that cannot command a terminal."""
    return shorten(redact("".join(c if c.isprintable() else " " for c in said)), 300)


_AGAIN = "run `callsheet login` again for a fresh code"
_IN_APP = "in the service's app under Settings, Advanced, API keys"

_SENTENCES: dict[str, tuple[str, str]] = {
    "expired_token": ("the code ran out before it was approved", _AGAIN),
    "access_denied": (
        "the login was declined",
        "run `callsheet login` again if that was a mistake",
    ),
    "invalid_grant": (
        "the code is unknown to the auth server, or was used before",
        f"{_AGAIN}; a key that was made and never arrived can be revoked {_IN_APP}",
    ),
    "anonymous_not_enabled": (
        "the service needs a person's email address to log in",
        "name one: `callsheet login --email ADDRESS`",
    ),
    "issuer_not_enabled": (
        "the service takes no identity of another issuer",
        "use `callsheet login --device`, or `callsheet login --email ADDRESS`",
    ),
    "invalid_claim_token": (
        "the auth server does not know this claim",
        "run `callsheet login --email ADDRESS` again: it begins a new one",
    ),
    "claimed_or_in_flight": (
        "this claim is used up, or is being approved at this moment",
        "wait a minute and run the same command again; a key that was made and never arrived "
        f"can be revoked {_IN_APP}",
    ),
    "claim_expired": (
        "this claim ran out: it was not approved in time",
        "run `callsheet login --email ADDRESS` again: it begins a new one",
    ),
    "invalid_scope": (
        "the service does not grant these scopes",
        "ask for some of them: `callsheet login --scopes read,write,ai`",
    ),
    "unsupported_grant_type": (
        "the auth server does not know this way of logging in",
        "for --email set CALLSHEET_CLAIM_GRANT to the service's own grant type; else try "
        "`callsheet login --browser` or `callsheet login --device`",
    ),
    "invalid_client": (
        "the auth server does not know this client any more",
        "run `callsheet login` again: it registers anew",
    ),
    "invalid_redirect_uri": (
        "the auth server does not let a browser come back to this machine",
        "use `callsheet login --device`",
    ),
}


def is_known(code: str) -> bool:
    """Return whether the code has a meaning, whatever status it comes with."""
    return code in _SENTENCES


def refusal(answer: Response, doing: str) -> LoginError:
    """Return the error for a refusal met while `doing` something, in words that read on."""
    code, status = error_code(answer), answer.status
    lost = status in (404, 405) and not (code and is_known(code))
    if code is None or lost:
        did = "redirected" if 300 <= status < 400 else f"answered {status}"
        return LoginError(
            f"the auth server {did} when asked to {doing}",
            remedy="check CALLSHEET_AUTH_URL: it is the root of the service's login",
        )
    return told(code, error_words(answer))


def told(code: str, words: str = "") -> LoginError:
    """Return the error for a code of the auth server; `words` are its own explanation."""
    known = _SENTENCES.get(code)
    if known:
        sentence, remedy = known
        return LoginError(f"{sentence} ({code})", code=code, remedy=remedy)
    said = f": {plain(words)}" if words else ""
    return LoginError(
        f'the auth server refused the login with "{plain(code)}"{said}',
        code=code,
        remedy="run `callsheet login` again, or another way: `callsheet login --device`, "
        "`callsheet login --email ADDRESS`",
    )
