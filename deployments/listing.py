"""Lists that fit any terminal, and what `callsheet status` shows.

Made by hand, since a table would cut what is long: a path or a sentence that does not fit next to
its line, and a first cell that is too long, has a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

from callsheet.deployments.campaign_status import (
    AT,
    CampaignStatus,
    resume_command,
    run_again,
    say_left,
    say_run,
)
from callsheet.deployments.terminal import plain, say_moment, table
from callsheet.tasks.engine.owner import is_dead, name_of
from callsheet.tasks.ledger.accounts import Account
from callsheet.tasks.ledger.campaigns import Tally
from callsheet.tasks.runtime.redact import one_line
from callsheet.tasks.values.amounts import CreditPrice, as_text, count, in_table, say_date

_GAP = "  "
#: A column for words that is narrower than this is none: they have lines of their own.
_NARROW = 24
#: The first column is no wider than this; a longer name stands above its line.
_LONGEST = 30


@dataclass(frozen=True)
class ListedLine:
    """The cells of the short columns, words, a path, and a colour for one of the cells."""

    cells: Sequence[str]
    words: str = ""
    path: str | None = None
    colours: Sequence[tuple[int, str]] = ()
    #: Where the path begins, if that is said elsewhere.
    folder: str = ""


def show_lines(
    console: Console,
    columns: Sequence[str],
    lines: Sequence[ListedLine],
    *,
    numbers: Sequence[str] = (),
) -> None:
    """Show lines under a header; the last of `columns` is that of words and paths."""
    lines = [_on_one_line(line) for line in lines]
    layout = _Layout(console, columns, lines, numbers)
    layout.show_header()
    for line in lines:
        layout.show_line(line)


def _on_one_line(line: ListedLine) -> ListedLine:
    """Return a line whose texts cannot begin another one."""
    return replace(line, cells=tuple(map(one_line, line.cells)), words=one_line(line.words))


class _Layout:
    """The width of each column, and what is left for words."""

    def __init__(
        self,
        console: Console,
        columns: Sequence[str],
        lines: Sequence[ListedLine],
        numbers: Sequence[str],
    ) -> None:
        self._console = console
        self._columns = columns
        self._right = [name in numbers for name in columns]
        cells = zip(columns[:-1], *(line.cells for line in lines), strict=True)
        self._widths = [max(map(cell_len, column)) for column in cells]
        others = sum(self._widths[1:]) + len(_GAP) * (len(self._widths) - 1)
        room = max(len(columns[0]), console.width - others) if console.is_terminal else _LONGEST
        self._widths[0] = min(self._widths[0], _LONGEST, room)
        self._indent = self._widths[0] + others + len(_GAP)
        #: What is left for the last column; None where nothing is wrapped.
        self._left = max(0, console.width - self._indent) if console.is_terminal else None

    def show_header(self) -> None:
        text = self._padded(self._columns[:-1])
        last = self._columns[-1]
        if self._is_wide():
            text.append(_GAP + last)
        text.stylize("bold")
        self._show(text)

    def show_line(self, line: ListedLine) -> None:
        head = self._padded(line.cells)
        self._colour(head, line)
        if cell_len(line.cells[0]) > self._widths[0]:
            self._show(Text(line.cells[0]))
            head = self._padded(("", *line.cells[1:]))
            self._colour(head, line)
        words = list(self._wrapped(line.words))
        if line.path is not None and not words and self._fits(line.path):
            self._show(head + Text(_GAP) + _linked(line.folder, line.path))
            return
        if words and self._is_wide():
            head += Text(_GAP) + words.pop(0)
        self._show(head)
        for text in words:
            self._show(Text(" " * (self._indent if self._is_wide() else 4)) + text)
        if line.path is not None:
            self._show(Text(" " * 4) + _linked(line.folder, line.path))

    def _show(self, text: Text) -> None:
        text.rstrip()
        self._console.print(text, soft_wrap=True)

    def _padded(self, cells: Sequence[str]) -> Text:
        text = Text()
        for cell, width, right in zip(cells, self._widths, self._right, strict=False):
            blank = " " * (width - cell_len(cell))
            text.append((blank + cell if right else cell + blank) + _GAP)
        return text[: -len(_GAP)]

    def _colour(self, head: Text, line: ListedLine) -> None:
        """Colour cells: Text counts characters, the columns count what a terminal shows."""
        shown = head.plain
        for column, colour in line.colours:
            start = shown.find(line.cells[column], self._start_of(shown, column))
            head.stylize(colour, start, start + len(line.cells[column]))

    def _start_of(self, shown: str, column: int) -> int:
        wanted = sum(self._widths[:column]) + len(_GAP) * column
        at = 0
        while at < len(shown) and cell_len(shown[:at]) < wanted:
            at += 1
        return at

    def _wrapped(self, words: str) -> Iterator[Text]:
        if not words:
            return
        if self._left is None:
            yield Text(words)
            return
        width = self._left if self._is_wide() else self._console.width - 4
        yield from Text(words).wrap(self._console, width)

    def _fits(self, text: str) -> bool:
        return self._left is None or cell_len(text) <= self._left

    def _is_wide(self) -> bool:
        return self._left is None or self._left >= _NARROW


def _linked(folder: str, path: str) -> Text:
    """Return a path that a terminal can open, where it is one of this machine or of the web."""
    whole = folder + path
    if whole.startswith(("http://", "https://")):
        return Text(path, style=Style(link=whole))
    if "://" in whole:
        return Text(path)
    return Text(path, style=Style(link=f"file://{quote(str(Path(whole).absolute()))}"))


# What `callsheet status` shows people: a line for each campaign, and the accounts.


#: Late rows that are named at most.
LATE = 5


def show_status(
    found: Sequence[CampaignStatus],
    accounts: Sequence[Account],
    console: Console,
    price: CreditPrice | None = None,
) -> None:
    """Show campaigns and who is at work on them, then the accounts, if there are any.

    With the price of a credit, what campaigns were charged and the accounts are in money too.
    """
    _show_campaigns(found, console, price)
    if accounts:
        _show_accounts(accounts, console, price)


def _show_campaigns(
    found: Sequence[CampaignStatus], console: Console, price: CreditPrice | None
) -> None:
    money = (price.currency,) if price else ()
    amounts = ("quoted", "reserved", "charged", *money, "variance", "budget", "left")
    lines = [
        ListedLine(
            (one.campaign.name, f"{one.tally.total:,}", *_amounts(one.tally, price)),
            ", ".join(f"{n:,} {state}" for state, n in one.tally.rows.items()),
        )
        for one in found
    ]
    show_lines(
        console,
        ("campaign", "rows", *amounts, "states"),
        lines,
        numbers=("rows", *amounts),
    )
    if any(one.tally.budget is not None for one in found):
        console.print("(a budget covers every run of its campaign)")
    console.print()
    for one in found:
        for reason, number in one.waiting.items():
            words = reason if number == 1 else reason.replace("waits", "wait", 1)
            console.print(plain(f"{one.campaign.name}: {count(number, 'row')} {words}"))
        if one.late:
            named = ", ".join(f"{row} (by {say_date(by)})" for row, by in one.late[:LATE])
            more = f" and {len(one.late) - LATE:,} more" if len(one.late) > LATE else ""
            console.print(plain(f"{one.campaign.name}: late are {named}{more}"))
        _show_run(one, console)
    if found and not any(one.owner for one in found):
        console.print("no run is active")


def _show_run(one: CampaignStatus, console: Console) -> None:
    """Say who is at work on a campaign, and what was left under way where no one is."""
    if one.owner and one.campaign.lease:
        since = say_moment(one.campaign.lease.since)
        words = f"{one.campaign.name} is being run by {name_of(one.owner)} since {since}"
        console.print(plain(words))
    for words in _say_runs(one):
        console.print(plain(f"{one.campaign.name}: {words}"))
    if one.left:
        words = f"{one.campaign.name}: {say_left(one.left)}; {resume_command(one.left)}"
        console.print(plain(words))


def _say_runs(one: CampaignStatus) -> Iterator[str]:
    """Say what runs that are not over are at, and how the last one ended where that was early."""
    for run in one.runs:
        state, since = run.state(is_dead), say_moment(run.asked_at)
        words = f"{say_run(run)}, begun {since}"
        if state == "running" or (state == "waiting" and run.ended_at is None):
            yield f"{words}, is {AT[run.step]}"
        elif state == "stopped":
            again = "" if one.left else f"; `{run_again(one.campaign)}` goes on"
            yield f"{words}, stopped without reporting a result{again}"
        elif run.exit in (1, 2, 4, 5):
            yield f"{words}, ended with status {run.exit}: {run.words or 'it gave no reason'}"
        if state in ("ended", "stopped"):
            return


def _show_accounts(
    accounts: Sequence[Account], console: Console, price: CreditPrice | None
) -> None:
    columns = ("account", "name", "reserved", "charged", "budget", "left")
    made = table("Accounts", columns, numbers=columns[2:])
    for account in accounts:
        limits = (account.reserved, account.charged, account.budget, account.left)
        amounts = [in_table(amount, price) for amount in limits]
        cells = (account.kind.replace("_", " "), account.name, *amounts)
        made.add_row(*(plain(cell) for cell in cells))
    console.print(made)


def _amounts(tally: Tally, price: CreditPrice | None) -> list[str]:
    limits = ["-" if a is None else as_text(a) for a in (tally.budget, tally.left)]
    spent = [as_text(tally.quoted), as_text(tally.reserved), as_text(tally.charged)]
    if price is not None:
        spent.append(f"{price.of(tally.charged):,f}")
    return [*spent, _signed(tally.variance), *limits]


def _signed(amount: Decimal) -> str:
    """Return what was paid beyond the quotes as `+3`, what was saved as `-3`."""
    return f"+{as_text(amount)}" if amount > 0 else as_text(amount)
