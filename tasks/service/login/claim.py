"""Path 3: a claim that one person approves, named by e-mail address (specification, section 5).

The claim token is good for a day and its user code for minutes, so a claim can be put down and
taken up again: `log_in_by_claim` goes on with one it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from tasks.errors import LoginError
from tasks.redact import register_secret
from tasks.service.login.device import Show, UserCode, read_user_code
from tasks.service.login.endpoints import Endpoints
from tasks.service.login.exchange import Exchange
from tasks.service.login.polling import Say, poll
from tasks.service.login.replies import Grant, error_code, members, text
from tasks.service.login.sentences import refusal, told

#: A claim token is good for so long, unless the server says otherwise.
LIFETIME = timedelta(hours=24)
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
            code = replace(claim.code, pace=replace(claim.code.pace, lifetime=left))
            show(code)
            try:
                return await poll(exchange, ask, code.pace, say=say)
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
    answer = await exchange.patiently(partial(exchange.post_json, endpoints.identity, wanted))
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

    That is so while the last code is good, and once somebody has answered.
    """
    wanted = {"claim_token": claim.token}
    answer = await exchange.patiently(partial(exchange.post_json, endpoints.claim, wanted))
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
    return exchange.clock() + timedelta(seconds=code.pace.lifetime)


def _moment(value: object, *, now: datetime) -> datetime:
    """Return when a claim ends, from seconds, a Unix time or a date; a day from now without."""
    try:
        if isinstance(value, str) and not value.replace(".", "", 1).isdecimal():
            moment = datetime.fromisoformat(value)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        number = float(value)  # type: ignore[arg-type]
        return datetime.fromtimestamp(number, UTC) if number > 1e8 else now + timedelta(0, number)
    except (TypeError, ValueError, OverflowError, OSError):
        return now + LIFETIME
