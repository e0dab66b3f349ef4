"""Polls the token endpoint until somebody has decided (RFC 8628, section 3.5).

Waits before the first poll and a fifth longer than asked, since clocks of virtual machines run
fast. Silence, pages and 5xx are waited out until the code itself runs out, on a clock that nobody
can set. An error without meaning for us ends it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from callsheet.tasks.errors import CallsheetError, LoginError
from callsheet.tasks.retry import RetryPolicy, retry
from callsheet.tasks.service.login.exchange import Exchange, NoAnswer, in_trouble
from callsheet.tasks.service.login.responses import (
    Grant,
    error_code,
    is_known,
    members,
    read_grant,
    refusal,
    seconds,
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
