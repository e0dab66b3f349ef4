"""Login with a code that you enter on another screen.

Device grant, claims, and polling for the token.

Waits before the first poll and a fifth longer than asked, since clocks of virtual machines run
fast. Silence, pages and 5xx are waited out until the code itself runs out, on a clock that no one
can set. An error without meaning for us ends it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from callsheet.tasks.runtime.errors import CallsheetError, LoginError
from callsheet.tasks.runtime.redact import register_secret
from callsheet.tasks.runtime.retry import RetryPolicy, retry
from callsheet.tasks.service.login.discovery import Endpoints
from callsheet.tasks.service.login.exchange import (
    Exchange,
    Grant,
    NoAnswer,
    error_code,
    in_trouble,
    is_known,
    members,
    plain,
    read_grant,
    refusal,
    seconds,
    text,
    told,
)
from callsheet.tasks.service.response import Response

Say = Callable[[str], None]

INTERVAL, LIFETIME = 5.0, 600.0
#: Longer than asked: at first, and once the server said `slow_down`.
MARGIN, SLOWER_MARGIN = 1.2, 1.4
SLOWER = 5.0
#: No pause is longer, whatever is asked for: the person has decided by then.
LONGEST_PAUSE = 120.0
_LATER = ("server_error", "temporarily_unavailable")


@dataclass(kw_only=True)
class PollInterval:
    """How often to poll, in seconds, and how long the code is good for."""

    seconds: float = INTERVAL
    lifetime: float = LIFETIME
    margin: float = MARGIN

    @property
    def pause(self) -> float:
        """The pause before the next poll."""
        return min(self.seconds * self.margin, LONGEST_PAUSE)

    def after_silence(self) -> RetryPolicy:
        """Return how polls go on that are not answered: each pause twice as long as the last."""
        return RetryPolicy(first=2 * self.pause, longest=LONGEST_PAUSE, jitter=0.0)

    def slow_down(self, asked: float) -> None:
        """Poll less often from now on: as often as asked, or five seconds less often."""
        self.seconds = asked or self.seconds + SLOWER
        self.margin = SLOWER_MARGIN


@dataclass(frozen=True, kw_only=True)
class _Silence:
    """A poll that was not answered in a way that means anything."""

    error: CallsheetError
    #: The poll may have been processed, and its answer with the key lost.
    left: bool
    #: What the server asked for, in seconds.
    wait: float = 0.0


async def poll(
    exchange: Exchange, ask: Callable[[], Awaitable[Response]], every: PollInterval, *, say: Say
) -> Grant:
    """Return what was granted; raise LoginError for a no, Parked for a server in trouble."""
    deadline = exchange.monotonic() + every.lifetime
    lost = said = False

    async def attempt() -> Grant | _Silence | None:
        nonlocal lost, said
        seen = await _poll_once(exchange, ask, every, lost=lost)
        if isinstance(seen, _Silence):
            lost |= seen.left
            if not said:
                say("the auth server did not answer as it should; still waiting")
        said = isinstance(seen, _Silence)
        return seen

    def left() -> float:
        return deadline - exchange.monotonic()

    while True:
        await exchange.sleep(every.pause)
        seen = await retry(
            attempt,
            every.after_silence(),
            again=lambda seen: isinstance(seen, _Silence) and left() > 0,
            at_least=lambda seen: min(seen.wait, left()) if isinstance(seen, _Silence) else 0.0,
            sleep=exchange.sleep,
            random=exchange.random,
        )
        if isinstance(seen, Grant):
            return seen
        if left() <= 0:
            raise told("expired_token") if seen is None else seen.error


async def _poll_once(
    exchange: Exchange,
    ask: Callable[[], Awaitable[Response]],
    every: PollInterval,
    *,
    lost: bool,
) -> Grant | _Silence | None:
    """Return the grant, what kept it from being looked at, or None to go on waiting."""
    try:
        response = await ask()
    except NoAnswer as silence:
        return _Silence(error=exchange.trouble(str(silence)), left=silence.left)
    grant = read_grant(response)
    if grant is not None:
        return grant
    code = error_code(response)
    asked = seconds((members(response) or {}).get("interval"), default=0.0)
    if code == "authorization_pending":
        every.seconds = asked or every.seconds
        return None
    if code == "slow_down":
        every.slow_down(asked)
        return None
    if code is None or code in _LATER or (in_trouble(response) and not is_known(code)):
        trouble = exchange.trouble(f"it answered {response.status}", response)
        return _Silence(error=trouble, left=True, wait=exchange.told(response))
    if code == "invalid_grant" and lost:
        raise LoginError(
            "the code was used, but the answer that held the key was lost on its way",
            code=code,
            remedy="run `callsheet login` again; revoke the lost key in the service's app under "
            "Settings, Advanced, API keys",
        )
    raise refusal(response, "look whether the login was approved")


# Paths 2 and 3: a code that a person enters at another screen (specification, section 5).
#
# The device grant (RFC 8628) ends with its code. A claim, which one person named by e-mail address
# approves, is good for a day and its code for minutes, so it can be put down and taken up again:
# `log_in_by_claim` goes on with one it is given.


DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


@dataclass(frozen=True, kw_only=True)
class UserCode:
    """What a person is told: go there, enter this. `complete` has the code in it already."""

    code: str
    address: str
    complete: str | None = None
    polling: PollInterval = field(default_factory=PollInterval)


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
    """Return what someone approved at another screen; raise LoginError or Parked.

    `show` is called once, with the code to enter.
    """
    asked = {"client_name": client_name, "scope": " ".join(scopes)}
    answer = await exchange.with_retries(partial(exchange.post_form, endpoints.device, asked))
    found = members(answer) or {}
    device_code = text(found, "device_code")
    if answer.status >= 300 or device_code is None:
        raise refusal(answer, "begin a login")
    register_secret(device_code)
    user_code = read_user_code(found, endpoints)
    show(user_code)
    form = {"grant_type": DEVICE_GRANT, "device_code": device_code}
    ask = partial(exchange.post_form, endpoints.token, form)
    return await poll(exchange, ask, user_code.polling, say=say)


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
        polling=PollInterval(
            seconds=seconds(found.get("interval"), default=INTERVAL),
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


#: A claim token is good for so long, unless the server says otherwise.
CLAIM_LIFETIME = timedelta(hours=24)
#: After these a claim is over for good.
ENDED = frozenset({"access_denied", "invalid_grant", "invalid_claim_token", "claim_expired"})


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim under way: its token, the code to enter, and until when each of them is good."""

    token: str = field(repr=False)
    expires_at: datetime
    code: UserCode
    code_until: datetime


async def log_in_by_claim(
    exchange: Exchange,
    endpoints: Endpoints,
    *,
    email: str,
    client_name: str,
    scopes: Sequence[str],
    grant_type: str,
    show: Show,
    say: Say,
    pending: Claim | None,
    keep: Callable[[Claim], None],
) -> Grant:
    """Return what the person behind `email` approved; raise LoginError or Parked.

    Goes on with `pending` if there is one. `keep` is called with a claim, and again for every
    fresh code of it, before `show` tells a person.
    """
    claim = pending
    if claim is None:
        wanted = {"login_hint": email, "client_name": client_name, "scope": " ".join(scopes)}
        claim = await _begin(exchange, endpoints, wanted)
        keep(claim)
    form = {"grant_type": grant_type, "claim_token": claim.token}
    ask = partial(exchange.post_form, endpoints.token, form)
    while True:
        left = (claim.code_until - exchange.clock()).total_seconds()
        if left > 0:
            code = replace(claim.code, polling=replace(claim.code.polling, lifetime=left))
            show(code)
            try:
                return await poll(exchange, ask, code.polling, say=say)
            except LoginError as error:
                if error.code != "expired_token":
                    raise
        if exchange.clock() >= claim.expires_at:
            raise told("claim_expired")
        fresh = await _renew(exchange, endpoints, claim)
        if fresh is None:
            say(f"{claim.code.code} is still good, or was dealt with just now; waiting to be told")
            fresh = replace(claim, code_until=exchange.clock() + _STILL)
        else:
            keep(fresh)
        claim = fresh


#: How much longer a code is waited for that the server calls good after its time, or dealt with.
_STILL = timedelta(seconds=60)


async def _begin(exchange: Exchange, endpoints: Endpoints, wanted: Mapping[str, str]) -> Claim:
    wanted = {"type": "service_auth", **wanted}
    answer = await exchange.with_retries(partial(exchange.post_json, endpoints.identity, wanted))
    found = members(answer) or {}
    token, inner = text(found, "claim_token"), found.get("claim")
    if answer.status >= 300 or token is None or not isinstance(inner, dict):
        raise refusal(answer, "begin a claim")
    register_secret(token)
    until = _moment(found.get("claim_token_expires"), now=exchange.clock())
    code = read_user_code(inner, endpoints)
    return Claim(token=token, expires_at=until, code=code, code_until=_end(code, exchange))


async def _renew(exchange: Exchange, endpoints: Endpoints, claim: Claim) -> Claim | None:
    """Return the claim with a fresh code; None where the server says that none is needed.

    That is so while the last code is good, and once someone has answered.
    """
    wanted = {"claim_token": claim.token}
    answer = await exchange.with_retries(partial(exchange.post_json, endpoints.claim, wanted))
    if error_code(answer) == "claimed_or_in_flight":
        return None
    if answer.status >= 300:
        gone = answer.status == 410 and error_code(answer) is None
        raise told("claim_expired") if gone else refusal(answer, "give a fresh code for the claim")
    found = members(answer) or {}
    inner = found.get("claim")
    code = read_user_code(inner if isinstance(inner, dict) else found, endpoints)
    return replace(claim, code=code, code_until=_end(code, exchange))


def _end(code: UserCode, exchange: Exchange) -> datetime:
    return exchange.clock() + timedelta(seconds=code.polling.lifetime)


def _moment(value: object, *, now: datetime) -> datetime:
    """Return when a claim ends, from seconds, a Unix time or a date; a day from now without."""
    try:
        if isinstance(value, str) and not value.replace(".", "", 1).isdecimal():
            moment = datetime.fromisoformat(value)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        number = float(value)  # type: ignore[arg-type]
        return datetime.fromtimestamp(number, UTC) if number > 1e8 else now + timedelta(0, number)
    except (TypeError, ValueError, OverflowError, OSError):
        return now + CLAIM_LIFETIME
