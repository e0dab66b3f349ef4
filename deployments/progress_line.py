"""The picture of a run while it lasts: a few lines of a terminal's width. Pure.

What matters most comes first, and what does not fit is left out from the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from rich.text import Text

from callsheet.deployments.terminal import COLOURS
from callsheet.tasks.campaign.progress_words import done_of, end_of, money_of, speeds_of
from callsheet.tasks.engine.progress import Snapshot

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
