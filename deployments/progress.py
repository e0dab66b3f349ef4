"""Progress of a run in the terminal: a live picture, or a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from callsheet.deployments.terminal import COLOURS
from callsheet.tasks.engine.progress import (
    QUIET,
    LinePace,
    Snapshot,
    done_of,
    end_of,
    log_line,
    money_of,
    speeds_of,
)

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

    def on_snapshot(self, snapshot: Snapshot) -> None:
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
            # The shell would have none once the run is killed, or stopped with Ctrl-Z.
            self._console.show_cursor()
        self._live.update(lines, refresh=True)

    def _clear(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _say(self, snapshot: Snapshot) -> None:
        if self._pace.allows(snapshot):
            self._console.print(log_line(snapshot, self._now()), markup=False)


# The picture of a run while it lasts: a few lines of a terminal's width. Pure.
#
# What matters most comes first, and what does not fit is left out from the end.


#: A bar is as long as there is room for, between these; two spaces part what stands in a line.
SHORTEST, LONGEST = 8, 40
GAP = "  "
#: Lines below the bar at most, what is waited for aside.
LINES = 3


def picture(snapshot: Snapshot, now: datetime, *, width: int, ascii_only: bool = False) -> Text:
    """Return the lines for a terminal that is `width` columns wide."""
    states = [
        Text(f"{count:,} {state}", style=COLOURS.get(state, ""))
        for state, count in snapshot.rows.items()
    ]
    others = [Text(part) for part in (money_of(snapshot), *speeds_of(snapshot.speeds))]
    head = [done_of(snapshot), end_of(snapshot, now)]
    lines = [bar_line(snapshot.done, snapshot.to_do, head, width=width, ascii_only=ascii_only)]
    lines += _flowed([*states, *others], width)
    if snapshot.waits_for:
        lines.append(Text(_cut(snapshot.waits_for, width), style="yellow"))
    return Text("\n").join(lines)


def bar_line(
    done: int, total: int, words: Iterable[str | None], *, width: int, ascii_only: bool = False
) -> Text:
    """Return a bar with words behind it; of the words as many as fit."""
    part = done / total if total else 1.0
    line = f"{int(100 * part)}%"
    for more in filter(None, words):
        if len(line) + len(GAP) + len(more) <= width:
            line += GAP + more
    room = min(LONGEST, width - len(line) - 1)
    if room < SHORTEST:
        return Text(line)
    full, empty = ("#", "-") if ascii_only else ("━", "━")
    filled = int(room * part)
    bar = Text(full * filled, style="green") + Text(empty * (room - filled), style="dim")
    return bar + Text(f" {line}")


def _flowed(parts: Iterable[Text], width: int) -> list[Text]:
    """Fill lines with parts, none of them cut; what needs more lines than there are is left out."""
    lines: list[Text] = []
    for part in parts:
        if lines and len(lines[-1]) + len(GAP) + len(part) <= width:
            lines[-1] += Text(GAP) + part
        elif len(lines) < LINES and len(part) <= width:
            lines.append(part)
        else:
            break
    return lines


def _cut(words: str, width: int) -> str:
    return words if len(words) <= width else f"{words[: width - 3]}..."
