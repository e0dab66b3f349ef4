"""`callsheet board`: the dashboard and its interface for programs, until it is stopped."""

from __future__ import annotations

import asyncio
import signal
import sys
from argparse import Namespace

from deployments.board.board import Board
from deployments.board.serve import serving
from deployments.commands.options import sandbox_for, settings_of
from deployments.signals import run_command
from deployments.terminal import console_for, plain, print_json
from tasks.home import make_home
from tasks.ledger import open_ledger


def main(args: Namespace) -> int:
    """Serve; return 0 when told to stop. Raises ConfigurationError when it cannot listen."""
    with sandbox_for(args):
        run_command(_serve(args))
    return 0


async def _serve(args: Namespace) -> None:
    settings = settings_of(args)
    if make_home(settings.home):
        print(f"made {settings.home} for the ledger and what else is kept", file=sys.stderr)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with await open_ledger(settings.ledger) as ledger:

        def make(origin: str) -> Board:
            return Board(settings=settings, ledger=ledger, origin=origin, sandbox=args.sandbox)

        async with serving(make, host=args.host, port=args.port) as board:
            if args.json:
                print_json({"url": board.origin})
                sys.stdout.flush()
            console_for(args).print(plain(f"the board is at {board.origin}; Ctrl+C stops it"))
            await stop.wait()
