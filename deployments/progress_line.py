"""What is said of a run while it lasts: one line for a log, a few of a terminal's width. Pure.

What matters most comes first, and what does not fit is left out from the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from rich.text import Text

from deployments.terminal import COLOURS
from tasks.credits import as_text, in_credits
from tasks.duration import say_duration
from tasks.engine.progress import Snapshot, Speeds

#: A bar is as long as there is room for, between these; two spaces part what stands in a line.
SHORTEST, LONGEST = 8, 40
GAP = "  "
#: Lines below the bar at most, what is waited for aside.
LINES = 3


def log_line(snapshot: Snapshot, now: datetime) -> str:
    """Return everything in one line, for where nothing can be painted over."""
    states = ", ".join(f"{count:,} {state}" for state, count in snapshot.rows.items())
    parts = [_done(snapshot), states, f"{_money(snapshot)} charged or set aside"]
    parts += [part for part in (*_speeds(snapshot.speeds), _ends(snapshot, now)) if part]
    parts += [f"after {say_duration(snapshot.seconds)}", *filter(None, [snapshot.waits_for])]
    return "; ".join(parts)


def picture(snapshot: Snapshot, now: datetime, *, width: int, ascii_only: bool = False) -> Text:
    """Return the lines for a terminal that is `width` columns wide."""
    states = [
        Text(f"{count:,} {state}", style=COLOURS.get(state, ""))
        for state, count in snapshot.rows.items()
    ]
    others = [Text(part) for part in (_money(snapshot), *_speeds(snapshot.speeds))]
    head = [_done(snapshot), _ends(snapshot, now)]
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


def _done(snapshot: Snapshot) -> str:
    return f"{snapshot.done:,} of {snapshot.to_do:,} {'row' if snapshot.to_do == 1 else 'rows'}"


def _ends(snapshot: Snapshot, now: datetime) -> str | None:
    """Say when all will be done, on the reader's clock, and how long that is."""
    left = snapshot.seconds_left
    if left is None or snapshot.done >= snapshot.to_do:
        return None
    end = now + timedelta(seconds=left)
    day = "" if end.date() == now.date() else f"{end.day} {end:%b} "
    return f"done {day}{end:%H:%M}, in {say_duration(left)}"


def _money(snapshot: Snapshot) -> str:
    spent = snapshot.charged + snapshot.reserved
    if snapshot.budget is None:
        return in_credits(spent)
    return f"{as_text(spent)} of {as_text(snapshot.budget)} credits"


def _speeds(speeds: Speeds | None) -> list[str]:
    """Say how quickly it goes; rows and films apart only where not every row is a film."""
    if speeds is None:
        return []
    rows, films, megabytes = map(_number, (speeds.rows, speeds.films, speeds.bytes / 1e6))
    said = [f"{films} films/min"] if rows == films else [f"{rows} rows/min", f"{films} films/min"]
    return said if megabytes == "0.0" else [*said, f"{megabytes} MB/s"]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _cut(words: str, width: int) -> str:
    return words if len(words) <= width else f"{words[: width - 3]}..."
