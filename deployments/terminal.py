"""How Callsheet speaks to people: a table, a live picture on a terminal, plain lines elsewhere.

Owns every colour and every box. With `--json` people are spoken to on stderr, since stdout is
for one document.
"""

from __future__ import annotations

import json
import logging
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

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
    stream = sys.stderr if args.json else sys.stdout
    _quieten(verbose=args.verbose)
    # Piped output is read by programs and in mails: no wrapping at 80 columns there.
    width = None if stream.isatty() else 160
    return Console(file=stream, highlight=False, width=width, soft_wrap=not stream.isatty())


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout."""
    print(json.dumps(document, ensure_ascii=False))


def print_json_lines(documents: Iterable[Mapping[str, Any]]) -> None:
    """Print JSON lines on stdout."""
    for document in documents:
        print(json.dumps(document, ensure_ascii=False))


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
    """Return text that rich does not take for markup."""
    return escape(str(text))


def _quieten(*, verbose: bool) -> None:
    """Put one redacting handler on the root; third parties speak up from WARNING on."""
    from tasks.redact import RedactingFilter

    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(RedactingFilter())
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("callsheet").setLevel(logging.DEBUG if verbose else logging.WARNING)
