"""The one table of a campaign's rows: how each stands, what it cost, where its film is.

Made by hand, since a path is never cut: one that does not fit beside its row has a line of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

from deployments.terminal import COLOURS
from tasks.credits import as_text, parse_credits
from tasks.ledger import NEEDS_PERSON, CampaignRow
from tasks.plural import count

COLUMNS = ("row", "state", "credits", "seconds", "film, or why there is none")
_RIGHT = ("credits", "seconds")
_GAP = "  "
#: A column for words that is narrower than this is none: they have a line of their own.
_NARROW = 24
#: What says of a row how it stands: `tasks.campaign.report.row_document` as JSON.
Document = Callable[[CampaignRow], Mapping[str, Any]]


@dataclass(frozen=True)
class _Line:
    short: tuple[str, ...]
    words: str
    film: str | None


def show_rows(
    title: str,
    rows: Sequence[CampaignRow],
    document: Document,
    console: Console,
    *,
    more: int = 0,
    rest: str = "",
) -> None:
    """Show a line for every row; `more` rows are not among them, and `rest` says where they are."""
    lines = [_line(row, document(row)) for row in rows]
    columns = zip(COLUMNS[:-1], *(line.short for line in lines), strict=True)
    table = _Layout(console, [max(map(cell_len, cells)) for cells in columns])
    console.print(Text(title, style="italic"))
    table.show(Text(table.padded(COLUMNS[:-1]) + _GAP + COLUMNS[-1], style="bold"))
    for line in lines:
        table.show_line(line)
    if any("(" in line.short[2] for line in lines):
        console.print("(in brackets: set aside, not charged)")
    if more:
        console.print(f"... and {count(more, 'more row', 'more rows')}: {rest}")
    console.print()


def most_urgent(rows: Sequence[CampaignRow], limit: int) -> list[CampaignRow]:
    """Return at most `limit` rows: those that need somebody, then what is not done, then films."""
    return sorted(rows, key=_urgency)[:limit]


def _urgency(row: CampaignRow) -> int:
    if row.state in NEEDS_PERSON:
        return 0
    return 2 if row.state in ("delivered", "retired") else 1


class _Layout:
    """Short columns side by side, then words and paths as they fit."""

    def __init__(self, console: Console, widths: Sequence[int]) -> None:
        self._console = console
        self._widths = widths
        self._indent = sum(widths) + len(_GAP) * len(widths)
        #: What is left for the last column; None where nothing is wrapped.
        self._left = max(0, console.width - self._indent) if console.is_terminal else None

    def show(self, text: Text) -> None:
        self._console.print(text, soft_wrap=True)

    def show_line(self, line: _Line) -> None:
        head = self._head(line.short)
        words = list(self._wrapped(line.words))
        beside = line.film is not None and not line.words and self._fits(line.film)
        if beside and line.film is not None:
            self.show(head + Text(_GAP) + _linked(line.film))
            return
        if words and self._is_wide():
            head += Text(_GAP) + words.pop(0)
        self.show(head)
        for text in words:
            self.show(Text(" " * (self._indent if self._is_wide() else 2)) + text)
        if line.film is not None:
            self.show(Text("  ") + _linked(line.film))

    def padded(self, cells: Sequence[str]) -> str:
        """Return the cells of the short columns, each as wide as its column."""
        shown = []
        for name, cell, width in zip(COLUMNS, cells, self._widths, strict=False):
            blank = " " * (width - cell_len(cell))
            shown.append(blank + cell if name in _RIGHT else cell + blank)
        return _GAP.join(shown)

    def _head(self, cells: Sequence[str]) -> Text:
        text = Text(self.padded(cells))
        colour = COLOURS.get(cells[1])
        if colour:
            start = self._widths[0] + len(_GAP)
            # Text counts characters, the columns count cells.
            start -= cell_len(cells[0]) - len(cells[0])
            text.stylize(colour, start, start + len(cells[1]))
        return text

    def _wrapped(self, words: str) -> Iterator[Text]:
        if not words:
            return
        if self._left is None:
            yield Text(words)
            return
        width = self._left if self._is_wide() else self._console.width - 2
        yield from Text(words).wrap(self._console, width)

    def _fits(self, text: str) -> bool:
        return self._left is None or cell_len(text) <= self._left

    def _is_wide(self) -> bool:
        return self._left is None or self._left >= _NARROW


def _line(row: CampaignRow, document: Mapping[str, Any]) -> _Line:
    film = next((f["uri"] for f in document["deliveries"] if f["kind"] == "mp4"), None)
    if film is not None:
        # Below the current folder, as people would type it.
        film = str(film).removeprefix(f"{Path.cwd()}/")
    words = "" if row.state == "delivered" and film else row.reason or ("" if film else "-")
    if film is not None and row.state != "delivered":
        words = (words + "; " if words else "") + f"the film of take {document['film_take']} stays"
    short = (row.row, row.state, _credits(document), _seconds(row))
    return _Line(short, words, film)


def _credits(document: Mapping[str, Any]) -> str:
    """Return what the row has cost over all its takes, and what is set aside for it."""
    charged, reserved = document["charged"], document["reserved"]
    parts = [] if charged is None else [as_text(parse_credits(charged))]
    parts += [f"({as_text(parse_credits(reserved))})"] if reserved else []
    return " ".join(parts) or "-"


def _seconds(row: CampaignRow) -> str:
    """Return how long the present take took, from intent to delivery."""
    take = row.take
    if take is None or take.delivered_at is None:
        return "-"
    return f"{take.delivered_at - take.intended_at:.1f}"


def _linked(path: str) -> Text:
    """Return a path that a terminal can open, where it is one of this machine or of the web."""
    if path.startswith(("http://", "https://")):
        return Text(path, style=Style(link=path))
    if "://" in path:
        return Text(path)
    return Text(path, style=Style(link=f"file://{quote(str(Path(path).absolute()))}"))
