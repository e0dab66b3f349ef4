"""What is found of the service: does it take the key, what may that do, do the clocks agree?"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence

import httpx

from callsheet.deployments.diagnosis.finding import PlaceFinding, note, ok, wrong, wrong_by
from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.redact import redact
from callsheet.tasks.service.login import key_status, owner_of
from callsheet.tasks.settings import Settings
from callsheet.tasks.webhooks.listener import check_address

#: Seconds by which clocks may differ; signatures of webhooks are refused beyond minutes.
SKEW = 30.0


async def service(settings: Settings) -> AsyncIterator[PlaceFinding]:
    """Ask the service with free reads alone."""
    try:
        address, key = settings.service()
    except CallsheetError as error:
        yield wrong_by("service", error)
        return
    before = time.time()
    status = await key_status(address, key)
    if status.accepted is None:
        remedy = "check CALLSHEET_BASE_URL, and the way to it from this machine"
        yield wrong("service", f"{address}: {status.words}", remedy)
        return
    if not status.accepted:
        yield wrong("service", f"{address}: {status.words}", "`callsheet login`")
        return
    owner = await owner_of(address, key)
    yield _scopes(f"{address} takes the key", owner.scopes, may_read=status.may_read is not False)
    if status.clock is not None:
        apart = status.clock - (before + time.time()) / 2
        if abs(apart) > SKEW:
            where = "ahead of" if apart > 0 else "behind"
            words = f"the service's clock is {abs(apart):.0f} s {where} this machine's"
            yield wrong("clock", words, "have this machine's clock set by NTP")
        else:
            yield ok("clock", "this machine's and the service's agree")


def _scopes(words: str, scopes: Sequence[str] | None, *, may_read: bool) -> PlaceFinding:
    """Say what a key may do, and what cannot be done with it."""
    if not may_read:
        words += ", which may not read: nothing can be planned, quoted or downloaded with it"
        return wrong("service", words, "`callsheet login`, or a key that has the scope read")
    if not scopes or not set(scopes) & {"read", "write"}:
        return ok("service", f"{words} (what it may do, the service does not say)")
    held = ", ".join(scopes)
    if "write" not in scopes:
        words += f", which has the scope {held} alone: it can plan, quote and download videos that "
        words += "are under way, and can neither make nor edit nor cancel any"
        remedy = "`callsheet login`, or a key that has the scope write, where videos are to be made"
        return note("service", words, remedy)
    lacks = "" if "ai" in scopes else "; without ai it makes no clips"
    return ok("service", f"{words} ({held}{lacks})")


async def webhooks(settings: Settings) -> AsyncIterator[PlaceFinding]:
    """Say whether anybody answers where the service sends its webhooks to."""
    if settings.webhook_url is None:
        return
    try:
        check_address(settings)
    except CallsheetError as error:
        yield wrong_by("webhooks", error)
        return
    try:
        async with httpx.AsyncClient(timeout=5, follow_redirects=False) as client:
            answer = await client.get(settings.webhook_url)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        words = f"no answer at {redact(settings.webhook_url)} ({type(error).__name__})"
        yield note(
            "webhooks", words, "runs poll instead; start `callsheet receive`, and see whether the "
            "proxy leads to it",
        )  # fmt: skip
        return
    words = f"{redact(settings.webhook_url)} answers ({answer.status_code})"
    if answer.status_code != 405:
        # A receiver takes deliveries alone, and says so.
        yield note("webhooks", f"{words} as no receiver does", "see where the proxy leads to")
    else:
        yield ok("webhooks", f"{words}; a run has a ping sent to prove the way")
