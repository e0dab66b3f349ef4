"""A night from beginning to end: which it is, and the sweep of its inbox.

Used by the command line and by the flow alike; knows neither.
"""

from __future__ import annotations

import time
from typing import Any

from flows.sweep import sweep
from tasks.clock import UnixClock
from tasks.nights.calendar import night_of
from tasks.nights.inboxes import Inbox
from tasks.nights.values import NightReport
from tasks.settings import Settings


async def hold_night(
    inbox: Inbox,
    settings: Settings,
    *,
    due: float | None = None,
    clock: UnixClock = time.time,
    **sweeping: Any,
) -> NightReport:
    """Sweep an inbox once, in the night that it is.

    `due` is the moment that a scheduler meant, `sweeping` what `flows.sweep` takes besides.
    """
    night = night_of(clock(), cron=inbox.cron, timezone=inbox.timezone, due=due)
    return await sweep(inbox, settings, night=night.date, zone=night.zone, clock=clock, **sweeping)
