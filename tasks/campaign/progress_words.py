"""How far a run is, in words: for a terminal, a file, Prefect's log. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.credits import as_text, in_credits
from callsheet.tasks.duration import say_duration
from callsheet.tasks.engine.progress import Snapshot, Speeds

#: Seconds between two lines where nothing can be painted over: at least, a part of what the run
#: has taken so far, at most. What has not changed is said once in so many.
SOONEST, PART, LATEST, QUIET = 5.0, 0.25, 60.0, 15.0
#: New words on what is waited for may come so soon.
WORDS = 2.0


class LinePace:
    """Says which snapshots are worth a line, and when the last one was; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._said: tuple[object, ...] | None = None
        #: When there was a line last, on the clock.
        self.at: float | None = None

    def allows(self, snapshot: Snapshot) -> bool:
        """Whether there is to be a line of this one: then there is taken to be."""
        counts = (tuple(snapshot.rows.items()), snapshot.done)
        said, now = (counts, snapshot.waits_for), self._clock()
        if self.at is not None and self._said is not None:
            finished = snapshot.done == snapshot.to_do and said != self._said
            pause = min(LATEST, max(SOONEST, PART * snapshot.seconds))
            if snapshot.waits_for != self._said[1]:
                pause = WORDS
            elif said == self._said:
                pause = max(QUIET, pause)
            if now - self.at < pause and not finished:
                return False
        self._said, self.at = said, now
        return True


def log_line(snapshot: Snapshot, now: datetime | None = None) -> str:
    """Return everything in one line, for where nothing can be painted over.

    `now` is the moment in the reader's zone; without it no moment is told.
    """
    states = ", ".join(f"{count:,} {state}" for state, count in snapshot.rows.items())
    parts = [done_of(snapshot), states, f"{money_of(snapshot)} reserved or charged"]
    parts += [part for part in (*speeds_of(snapshot.speeds), end_of(snapshot, now)) if part]
    parts += [f"after {say_duration(snapshot.seconds)}", *filter(None, [snapshot.waits_for])]
    return "; ".join(parts)


def say_outcome(outcome: RunOutcome) -> str:
    """Say how many rows are where, what this run was charged, and what the campaign has cost."""
    tally = outcome.tally
    counts = ", ".join(f"{n:,} {state}" for state, n in tally.rows.items())
    words = f"{counts}; this run was charged {in_credits(outcome.charged_this_run)}, "
    words += f"the campaign has cost {in_credits(tally.charged)}"
    return words + (f" with {in_credits(tally.reserved)} reserved" if tally.reserved else "")


def done_of(snapshot: Snapshot) -> str:
    """Say how many rows are done for this run."""
    return f"{snapshot.done:,} of {snapshot.to_do:,} {'row' if snapshot.to_do == 1 else 'rows'}"


def end_of(snapshot: Snapshot, now: datetime | None) -> str | None:
    """Say when all will be done, on the reader's clock if that is known, and how long that is."""
    left = snapshot.seconds_left
    if left is None or snapshot.done >= snapshot.to_do:
        return None
    if now is None:
        return f"done in {say_duration(left)}"
    end = now + timedelta(seconds=left)
    day = "" if end.date() == now.date() else f"{end.day} {end:%b} "
    return f"done {day}{end:%H:%M}, in {say_duration(left)}"


def money_of(snapshot: Snapshot) -> str:
    """Say what the campaign has been charged and has set aside, of its budget if it has one."""
    spent = snapshot.charged + snapshot.reserved
    if snapshot.budget is None:
        return in_credits(spent)
    return f"{as_text(spent)} of {as_text(snapshot.budget)} credits"


def speeds_of(speeds: Speeds | None) -> list[str]:
    """Say how quickly it goes; rows and videos apart only where not every row is a video."""
    if speeds is None:
        return []
    rows, videos, megabytes = map(_number, (speeds.rows, speeds.videos, speeds.bytes / 1e6))
    said = (
        [f"{videos} videos/min"] if rows == videos else [f"{rows} rows/min", f"{videos} videos/min"]
    )
    return said if megabytes == "0.0" else [*said, f"{megabytes} MB/s"]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
