"""How far a run is, for people: a live picture on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from callsheet.deployments.progress_line import bar_line, picture
from callsheet.tasks.campaign.progress_words import QUIET, LinePace, log_line
from callsheet.tasks.engine.progress import Snapshot

if TYPE_CHECKING:
    from rich.live import Live

#: Quotes that take longer than so many seconds are shown, and painted so often.
LONG, OFTEN = 0.5, 0.25


def _here() -> datetime:
    return datetime.now().astimezone()


class ProgressView:
    """Shows how far it is; used as a context manager around what is shown.

    `clock` gives seconds, `now` the moment in the reader's zone.
    """

    def __init__(
        self,
        console: Console,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = _here,
    ) -> None:
        self._console = console
        self._clock = clock
        self._now = now
        self._live: Live | None = None
        self._pace = LinePace(clock)
        self._quoting_since: float | None = None
        self._over = False

    def __enter__(self) -> ProgressView:
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._clear()

    def hear(self, snapshot: Snapshot) -> None:
        """Show one snapshot; none of a run whose end is being told already."""
        if not snapshot.to_do or self._over:
            return
        if self._console.is_terminal:
            width, plain = self._console.width, self._console.options.ascii_only
            self._paint(picture(snapshot, self._now(), width=width, ascii_only=plain))
        else:
            self._say(snapshot)

    def quoting(self, done: int, total: int) -> None:
        """Show of how many rows the price is known, where that takes a while."""
        now = self._clock()
        if self._quoting_since is None:
            self._quoting_since = self._pace.at = now
        if done >= total:
            self._quoting_since = self._pace.at = None
            self._clear()
            return
        terminal = self._console.is_terminal
        last = self._quoting_since if self._pace.at is None else self._pace.at
        pause = (OFTEN if self._live else LONG) if terminal else QUIET
        if now - last < pause:
            return
        self._pace.at = now
        words = f"quoting {done:,} of {total:,}"
        if terminal:
            width, plain = self._console.width, self._console.options.ascii_only
            self._paint(bar_line(done, total, [words], width=width, ascii_only=plain))
        else:
            self._console.print(words)

    def _paint(self, lines: Text) -> None:
        if self._live is None:
            # Only who sits at a terminal pays for it. Painted when there is something new, and by
            # no thread of its own.
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(lines, refresh=True)

    def _clear(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _say(self, snapshot: Snapshot) -> None:
        if self._pace.allows(snapshot):
            self._console.print(log_line(snapshot, self._now()), markup=False)
