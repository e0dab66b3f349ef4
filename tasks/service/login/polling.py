"""Polls the token endpoint until somebody has decided (RFC 8628, section 3.5).

Waits before the first poll and a fifth longer than asked, since clocks of virtual machines run
fast. Silence, pages and 5xx are waited out until the code itself runs out, on a clock that nobody
can set. An error without meaning for us ends it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tasks.errors import CallsheetError, LoginError
from tasks.retry_after import retry_after
from tasks.service.login.exchange import Exchange, NoAnswer, in_trouble
from tasks.service.login.replies import Grant, error_code, members, read_grant, seconds
from tasks.service.login.sentences import is_known, refusal, told
from tasks.service.response import Response

Say = Callable[[str], None]

INTERVAL, LIFETIME = 5.0, 600.0
#: Longer than asked: at first, and once the server said `slow_down`.
MARGIN, SLOWER_MARGIN = 1.2, 1.4
SLOWER = 5.0
#: No pause is longer, whatever is asked for: the person has decided by then.
LONGEST_PAUSE = 120.0
_LATER = ("server_error", "temporarily_unavailable")


@dataclass(kw_only=True)
class Pace:
    """How often to poll, in seconds, and how long the code is good for."""

    interval: float = INTERVAL
    lifetime: float = LIFETIME
    margin: float = MARGIN

    def pause(self, silences: int) -> float:
        """Return the pause before the next poll; doubled with every silence in a row."""
        return min(self.interval * self.margin * 2.0 ** min(silences, 6), LONGEST_PAUSE)

    def slow_down(self, asked: float) -> None:
        """Poll less often from now on: as often as asked, or five seconds less often."""
        self.interval = asked or self.interval + SLOWER
        self.margin = SLOWER_MARGIN


@dataclass(frozen=True, kw_only=True)
class _Silence:
    """A poll that was not answered in a way that means anything."""

    error: CallsheetError
    #: The poll may have been carried out, and its answer with the key lost.
    left: bool
    #: What the server asked for, in seconds.
    wait: float = 0.0


async def poll(
    exchange: Exchange, ask: Callable[[], Awaitable[Response]], pace: Pace, *, say: Say
) -> Grant:
    """Return what was granted; raise LoginError for a no, Parked for a server in trouble."""
    deadline = exchange.monotonic() + pace.lifetime
    silences, lost = 0, False
    while True:
        await exchange.sleep(pace.pause(silences))
        seen = await _look(exchange, ask, pace, lost=lost)
        if isinstance(seen, Grant):
            return seen
        silences = 0 if seen is None else silences + 1
        if seen is not None:
            lost |= seen.left
            if silences == 1:
                say("the auth server did not answer as it should; still waiting")
            left = deadline - exchange.monotonic()
            await exchange.sleep(max(0.0, min(seen.wait, left)))
        if exchange.monotonic() >= deadline:
            raise told("expired_token") if seen is None else seen.error


async def _look(
    exchange: Exchange, ask: Callable[[], Awaitable[Response]], pace: Pace, *, lost: bool
) -> Grant | _Silence | None:
    """Poll once: return the grant, what kept it from being looked at, or None to go on waiting."""
    try:
        answer = await ask()
    except NoAnswer as silence:
        return _Silence(error=exchange.trouble(str(silence)), left=silence.left)
    grant = read_grant(answer)
    if grant is not None:
        return grant
    code = error_code(answer)
    asked = seconds((members(answer) or {}).get("interval"), default=0.0)
    if code == "authorization_pending":
        pace.interval = asked or pace.interval
        return None
    if code == "slow_down":
        pace.slow_down(asked)
        return None
    if code is None or code in _LATER or (in_trouble(answer) and not is_known(code)):
        trouble = exchange.trouble(f"it answered {answer.status}", answer)
        wait = retry_after(answer.headers, now=exchange.clock()) or 0.0
        return _Silence(error=trouble, left=True, wait=wait)
    if code == "invalid_grant" and lost:
        raise LoginError(
            "the code was used, but the answer that held the key was lost on its way",
            code=code,
            remedy="run `callsheet login` again; revoke the lost key in the service's app under "
            "Settings, Advanced, API keys",
        )
    raise refusal(answer, "look whether the login was approved")
