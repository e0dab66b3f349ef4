"""`callsheet board`: the dashboard and its interface for programs, until it is stopped.

Its verbs (`invite`, `people`, `links`) are in `board_people`.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from rich.console import Console

from callsheet.deployments.board.acts.admin import admin_token, keep_address, others
from callsheet.deployments.board.acts.people import new_login
from callsheet.deployments.board.board import Board
from callsheet.deployments.board.serve import serving
from callsheet.deployments.board.visit import is_loopback, origin_of_site
from callsheet.deployments.commands.options import sandbox_for, settings_of
from callsheet.deployments.new_ledger import prepare_ledger
from callsheet.deployments.signals import run_command
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.errors import ConfigurationError
from callsheet.tasks.ledger import Ledger, open_ledger
from callsheet.tasks.settings import Settings
from callsheet.tasks.visible import say

#: How long the login that is printed waits for a browser, in seconds.
LOGIN = 3600.0


def main(args: Namespace) -> int:
    """Serve; return 0 when told to stop. Raises ConfigurationError when it cannot listen."""
    if args.verb is not None:
        from callsheet.deployments.commands import board_people

        return board_people.main(args)
    with sandbox_for(args):
        run_command(_serve(args))
    return 0


async def _serve(args: Namespace) -> None:
    settings = settings_of(args)
    said = origin_of_site(args.url) if args.url else None
    prepare_ledger(settings, sandbox=args.sandbox)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    console = console_for(args)
    async with await open_ledger(settings.ledger) as ledger:

        def make(origin: str) -> Board:
            return Board(
                settings=settings,
                ledger=ledger,
                origin=said or origin,
                is_named=said is not None,
                sandbox=settings.sandbox,
                brings_sandbox=args.sandbox,
                behind_proxy=args.behind_proxy,
                profile=args.profile,
            )

        await _refuse_strangers(args, make("http://" + args.host), ledger)
        async with (
            serving(make, host=args.host, port=args.port, fd=args.fd) as board,
            _hearing(ledger, settings),
        ):
            keep_address(board)
            await _tell(args, board, console)
            await stop.wait()
            console.print("stopping: answers under way are finished")


@asynccontextmanager
async def _hearing(ledger: Ledger, settings: Settings) -> AsyncIterator[None]:
    """Receive webhooks as `callsheet receive` does, where they are configured."""
    async with AsyncExitStack() as stack:
        if settings.webhook_url:
            from callsheet.deployments.commands.receive import hearing
            from callsheet.deployments.receiver.endpoint import AlreadyReceiving

            try:
                receiver = await stack.enter_async_context(hearing(ledger, settings))
                say(f"receiving webhooks at {receiver.address}")
            except AlreadyReceiving as there:
                say(f"{there}: that one receives webhooks")
        yield


async def _refuse_strangers(args: Namespace, board: Board, ledger: Ledger) -> None:
    """Beyond this machine the board is for people who were invited, each with a token."""
    if is_loopback(args.host):
        return
    if not await others(board):
        raise ConfigurationError(
            f"the board has no people yet, and {args.host} is open to other machines",
            remedy="`callsheet board invite NAME --role admin` adds a person first",
        )
    if not args.behind_proxy:
        say(
            "without https in front of it (--behind-proxy) tokens and videos cross the network in "
            "the clear"
        )


async def _tell(args: Namespace, board: Board, console: Console) -> None:
    """Say where it is, and how to come in."""
    admin = await admin_token(board)
    login = await new_login(board, admin[0], lasts=LOGIN) if admin else None
    if args.json:
        print_json({"url": board.origin, "login": login, "token": admin[1] if admin else None})
        sys.stdout.flush()
    console.print(plain(f"the board is at {board.origin}; press Ctrl+C to stop"))
    if login is None:
        console.print("its first admin was revoked: people log in by their invitations")
        return
    if args.open:
        await open_browser(login)
    elif not args.json:
        console.print(plain(f"log in once, within the hour, at {login}"))


async def open_browser(login: str) -> None:
    """Open a browser that is logged in; where there is none, say the address."""
    import webbrowser

    if not await asyncio.to_thread(webbrowser.open, login):
        say(f"no browser opens here; log in at {login}")
