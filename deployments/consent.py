"""The question before credits are spent, or work is thrown away."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from tasks.errors import SpendRefused


async def consent(args: Namespace, question: str, *, what: str) -> str:
    """Ask at the terminal, unless `--yes` answered beforehand; return how it was approved.

    Raises SpendRefused for a no, and where nobody can be asked: `what` is then said not to be
    approved ("15 credits are", "to delete vid_1 is").
    """
    if args.yes:
        return "approved with --yes"
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        raise SpendRefused(
            f"{what} not approved and there is nobody to ask; nothing was done, nothing was spent",
            remedy="run the same command again with --yes",
        )
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if (await _line()).strip().casefold() not in ("y", "yes"):
        raise SpendRefused(f"{what} not approved; nothing was done, nothing was spent")
    return "approved at the terminal"


async def _line() -> str:
    """Return the next line of the terminal, in a wait that Ctrl-C ends."""
    loop = asyncio.get_running_loop()
    there = asyncio.Event()
    try:
        loop.add_reader(sys.stdin, there.set)
    except NotImplementedError:  # the event loop of Windows
        return await asyncio.to_thread(sys.stdin.readline)
    try:
        # A terminal hands over whole lines, so the read below does not wait.
        await there.wait()
    finally:
        loop.remove_reader(sys.stdin)
    return sys.stdin.readline()
