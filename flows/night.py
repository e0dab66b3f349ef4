"""A night from beginning to end: which it is, the sweep of its inbox, and word of it to people.

Used by the command line and by the flow alike; knows neither. Word that fails fails no night.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

from callsheet.flows.sweep import sweep
from callsheet.tasks.clock import UnixClock
from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.ledger import open_ledger
from callsheet.tasks.log_lines import about, log_as
from callsheet.tasks.nights.calendar import Night, night_of
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.values import NightReport
from callsheet.tasks.settings import Settings


async def hold_night(
    inbox: Inbox,
    settings: Settings,
    *,
    due: float | None = None,
    clock: UnixClock = time.time,
    **sweeping: Any,
) -> NightReport:
    """Sweep an inbox once, in the night that it is, and tell whoever wants to hear of it.

    `due` is the moment that a scheduler meant, `sweeping` what `flows.sweep` takes besides. Raises
    what the sweep raises, once people were told of it.
    """
    log_as(settings.log, settings.log_level)
    night = night_of(clock(), cron=inbox.cron, timezone=inbox.timezone, due=due)
    with about(lambda: {"night": night.date, "inbox": inbox.name}):
        return await _hold(inbox, settings, night, clock=clock, **sweeping)


async def _hold(
    inbox: Inbox, settings: Settings, night: Night, *, clock: UnixClock, **sweeping: Any
) -> NightReport:
    # Apprise and its like are imported where somebody is to be told something.
    from callsheet.tasks.notices import ping, tell

    await ping(inbox, "start")
    try:
        report = await sweep(
            inbox,
            settings,
            night=night.date,
            zone=night.zone,
            since=night.since,
            clock=clock,
            **sweeping,
        )
    except Exception as error:
        await _tell_failure(inbox, settings, night.date, error, clock=clock)
        raise
    if report.skipped is None and (inbox.notify or inbox.notify_of):
        # A ledger that is away by now fails no night that went well.
        with contextlib.suppress(CallsheetError):
            async with await open_ledger(settings.ledger, create=False) as ledger:
                await tell(ledger, settings, inbox, report, clock=clock)
    # A sweep that is left to another one is no word of success: that one may hang for good.
    if not report.is_swept_elsewhere:
        await ping(inbox, "failure" if report.exit_status in (1, 2) else "success")
    return report


async def _tell_failure(
    inbox: Inbox, settings: Settings, night: str, error: Exception, *, clock: UnixClock
) -> None:
    """Tell people that a night failed as a whole, as far as there is a ledger to note it in."""
    from callsheet.tasks.notices import alarm, ping

    words = str(error) or type(error).__name__
    await ping(inbox, "failure", words)
    if inbox.notify:
        try:
            async with await open_ledger(settings.ledger) as ledger:
                await alarm(ledger, inbox, night, words, clock=clock)
        except CallsheetError:
            # The error itself is told by whoever began the night.
            return
