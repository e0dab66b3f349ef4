"""How far a run is, for people: a live picture on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from deployments.terminal import state_text
from tasks.credits import as_text, in_credits
from tasks.duration import say_duration
from tasks.engine.progress import Snapshot

#: Seconds between two plain lines while nothing else happens.
QUIET = 15.0


class ProgressView:
    """Shows snapshots; used as a context manager around the run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._said: tuple[object, ...] | None = None
        self._at = 0.0

    def __enter__(self) -> ProgressView:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def hear(self, snapshot: Snapshot) -> None:
        """Show one snapshot."""
        if not snapshot.to_do:
            return
        if self._console.is_terminal:
            self._paint(snapshot)
        else:
            self._say(snapshot)

    def _paint(self, snapshot: Snapshot) -> None:
        if self._live is None:
            self._live = Live(console=self._console, refresh_per_second=4, transient=True)
            self._live.start()
        states = "  ".join(f"{state_text(s)} {n}" for s, n in snapshot.rows.items())
        bar = ProgressBar(total=snapshot.to_do, completed=snapshot.done, width=40)
        picture = Table.grid()
        for line in (bar, Text.from_markup(states), Text(_money_and_time(snapshot))):
            picture.add_row(line)
        if snapshot.waits_for:
            picture.add_row(Text(snapshot.waits_for, style="yellow"))
        self._live.update(picture)

    def _say(self, snapshot: Snapshot) -> None:
        said = (tuple(snapshot.rows.items()), snapshot.done, snapshot.waits_for)
        now = time.monotonic()
        pace = 2.0 if said != self._said else QUIET
        finished = snapshot.done == snapshot.to_do and said != self._said
        if now - self._at < pace and not finished:
            return
        self._said, self._at = said, now
        states = ", ".join(f"{n} {s}" for s, n in snapshot.rows.items())
        waits = f"; {snapshot.waits_for}" if snapshot.waits_for else ""
        self._console.print(f"{states}; {_money_and_time(snapshot)}{waits}")


def _money_and_time(snapshot: Snapshot) -> str:
    spent = snapshot.charged + snapshot.reserved
    limit = as_text(snapshot.budget)
    amount = (
        in_credits(spent) if snapshot.budget is None else f"{as_text(spent)} of {limit} credits"
    )
    left = "" if snapshot.seconds_left is None else f", {say_duration(snapshot.seconds_left)} left"
    return (
        f"{snapshot.done:,}/{snapshot.to_do:,} done, {amount} charged or set aside, "
        f"{say_duration(snapshot.seconds)}{left}"
    )
