"""How Callsheet speaks to people in a terminal: tables, lines, times, and the one question.

Owns every color and every box. With `--json` people are spoken to on stderr, since stdout is
for one document.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table

from callsheet.tasks.runtime.errors import SpendRefused
from callsheet.tasks.runtime.logs import log_for_people
from callsheet.tasks.runtime.process import user_name as user_name
from callsheet.tasks.runtime.redact import one_line, say, visible, visible_json
from callsheet.tasks.runtime.suggest import again_with

if TYPE_CHECKING:
    # Commands without an answer need not pay for it.
    from pydantic import BaseModel

Answer = TypeVar("Answer", bound="BaseModel")

#: A colour a state; the word is always there too.
COLOURS = {
    "delivered": "green",
    "ready": "green",
    "rendering": "cyan",
    "submitting": "cyan",
    "held": "yellow",
    "stalled": "yellow",
    "uncertain": "yellow",
    "rejected": "red",
    "failed": "red",
    "cancelled": "dim",
    "retired": "dim",
}


def console_for(args: Namespace) -> Console:
    """Return the console for people, and make every log line safe to show."""
    log_for_people(verbose=args.verbose)
    stream = sys.stderr if args.json else sys.stdout
    # Piped output is read by programs and in mails: no wrapping at 80 columns there.
    width = None if stream.isatty() else 160
    # By its name: with JSON it is another one from the settings on.
    soft = not stream.isatty()
    return _Console(stderr=args.json, highlight=False, width=width, soft_wrap=soft)


class _Console(Console):
    """Shows no control character of a text; only the colors and moves of rich reach a terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the pieces of what is printed, each safe to show."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=visible(piece.text))


def tell(args: Namespace, answer: Answer, show: Callable[[Answer, Console], None]) -> int:
    """Show an answer to people, and with `--json` to programs; return its exit status."""
    show(answer, console_for(args))
    if args.json:
        print_json(answer.model_dump(mode="json"))
    return int(getattr(answer, "exit", 0))


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout."""
    print(visible_json(json.dumps(document, ensure_ascii=False)))


def print_json_lines(documents: Iterable[Mapping[str, Any]]) -> None:
    """Print JSON lines on stdout."""
    for document in documents:
        print(visible_json(json.dumps(document, ensure_ascii=False)))


def table(title: str, columns: Sequence[str], *, numbers: Sequence[str] = ()) -> Table:
    """Return an empty table; the columns in `numbers` are aligned to the right."""
    made = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        made.add_column(
            column,
            justify="right" if column in numbers else "left",
            overflow="fold",
            no_wrap=column in ("row", "state", "action", *numbers),
        )
    return made


def state_text(state: str) -> str:
    """Return a state in its colour, as rich markup."""
    colour = COLOURS.get(state)
    return f"[{colour}]{state}[/]" if colour else state


def plain(text: object) -> str:
    """Return text on one line that rich does not take for markup."""
    return escape(one_line(str(text)))


def at_terminal() -> bool:
    """Return whether someone sits here who can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def consent(args: Namespace, question: str, *, what: str) -> str:
    """Ask at the terminal, unless `--yes` answered beforehand; return how it was approved.

    Raises SpendRefused for a no, for Ctrl-C, and where no one can be asked: `what` is then said
    not to be approved ("15 credits are", "to delete vid_1 is").
    """
    if args.yes:
        return f"approved by {user_name()} with --yes"
    if not at_terminal():
        raise SpendRefused(
            f"{what} not approved, and there is no terminal to ask at; nothing was done, nothing "
            "was spent",
            remedy=f"to go ahead, {again_with('--yes')}",
        )
    if not await ask(question):
        raise SpendRefused(f"{what} not approved; nothing was done, nothing was spent")
    return f"approved by {user_name()} at the terminal"


async def ask(question: str) -> bool | None:
    """Return the answer to a question at the terminal: None when it was left with Ctrl-C."""
    print(f"{visible(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    try:
        answer = await read_line(sys.stdin)
    except asyncio.CancelledError:
        say("")
        return None
    return answer.strip().casefold() in ("y", "yes")


async def read_line(terminal: TextIO) -> str:
    """Return the next line that is typed, in a wait that can be cancelled."""
    loop = asyncio.get_running_loop()
    there = asyncio.Event()
    try:
        loop.add_reader(terminal, there.set)
    except NotImplementedError:  # the event loop of Windows
        return await asyncio.to_thread(terminal.readline)
    try:
        # A terminal hands over whole lines, so the read below does not wait.
        await there.wait()
    finally:
        loop.remove_reader(terminal)
    return terminal.readline()


# Moments for people: in the zone of anyone who reads, with UTC behind.


def say_moment(at: float | datetime | None, *, zone: tzinfo | None = None, up: bool = False) -> str:
    """Return a moment (Unix seconds, or aware) as `22 Nov 08:14 (07:14 UTC)`.

    `zone` is the reader's own, that of this machine unless given. A date is said again where it is
    another in UTC, and a year where it is not the present one. `up` rounds up to a whole minute:
    for moments that are to be waited for.
    """
    if at is None:
        return "-"
    utc = at.astimezone(UTC) if isinstance(at, datetime) else datetime.fromtimestamp(at, UTC)
    utc += timedelta(seconds=59) if up else timedelta()
    here = utc.astimezone(zone)
    day = f"{here.day} {here:%b}" + (
        "" if here.year == datetime.now(zone).year else f" {here.year}"
    )
    if not here.utcoffset():
        return f"{day} {here:%H:%M} UTC"
    behind = f"{utc:%H:%M}" if utc.date() == here.date() else f"{utc.day} {utc:%b %H:%M}"
    return f"{day} {here:%H:%M} ({behind} UTC)"
