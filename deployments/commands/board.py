"""`callsheet board`: serve the board; invite people, list them, make links."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

from rich.console import Console

from callsheet.deployments.at import is_loopback
from callsheet.deployments.board.app import serving
from callsheet.deployments.board.board import Board
from callsheet.deployments.board.logins import (
    admin_token,
    keep_address,
    kept_address,
    new_login,
    others,
)
from callsheet.deployments.board.visit import origin_of_site
from callsheet.deployments.commands.options import budget_of, sandbox_for, settings_of
from callsheet.deployments.commands.people import (
    HERE_ONLY,
    end_link,
    invite_person,
    list_links,
    list_people,
    make_link,
    revoke_person,
)
from callsheet.deployments.new_ledger import prepare_ledger
from callsheet.deployments.process import handle_stops, run_command
from callsheet.deployments.terminal import console_for, plain, print_json, table
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.runtime.errors import BadInput, ConfigurationError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import say
from callsheet.tasks.values.amounts import as_text, in_credits, parse_duration

#: How long the login that is printed waits for a browser, in seconds.
LOGIN = 3600.0


def main(args: Namespace) -> int:
    """Serve; return 0 when told to stop. Raises ConfigurationError when it cannot listen."""
    if args.verb is not None:
        return people(args)
    with sandbox_for(args):
        run_command(_serve(args))
    return 0


async def _serve(args: Namespace) -> None:
    settings = settings_of(args)
    said = origin_of_site(args.url) if args.url else None
    prepare_ledger(settings, sandbox=args.sandbox)
    stop = asyncio.Event()
    handle_stops(stop.set)
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
            _receiver_at(ledger, settings),
        ):
            keep_address(board)
            await _tell(args, board, console)
            await stop.wait()
            console.print("stopping: answers under way are finished")


@asynccontextmanager
async def _receiver_at(ledger: Ledger, settings: Settings) -> AsyncIterator[None]:
    """Receive webhooks as `callsheet receive` does, where they are configured."""
    async with AsyncExitStack() as stack:
        if settings.webhook_url:
            from callsheet.deployments.commands.receive import receiver_of
            from callsheet.deployments.receiver.endpoint import AlreadyReceiving

            try:
                receiver = await stack.enter_async_context(receiver_of(ledger, settings))
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


#: Who invites on the command line: anyone who has the ledger.
BY = Person(id=0, name="the command line", role="admin")
DEFAULT = "http://127.0.0.1:8788"


def people(args: Namespace) -> int:
    """Execute a verb about people or links."""
    verbs = {"invite": _invite, "people": _people, "link": _link, "links": _links}
    return run_command(_with_board(args, verbs[args.verb]))


async def _with_board(args: Namespace, verb: Callable[[Namespace, Board], Awaitable[None]]) -> int:
    async with open_board(args, create=args.verb == "invite") as board:
        await verb(args, board)
    return 0


@asynccontextmanager
async def open_board(args: Namespace, *, create: bool) -> AsyncIterator[Board]:
    """Open the board's ledger without serving it; its origin is `--url`, or where it was last.

    Raises LedgerError when there is no ledger yet and `create` is false.
    """
    settings = settings_of(args)
    if create:
        prepare_ledger(settings, sandbox=getattr(args, "sandbox", False))
    said = origin_of_site(args.url) if getattr(args, "url", None) else None
    async with await open_ledger(settings.ledger, create=create) as ledger:
        board = Board(
            settings=settings,
            ledger=ledger,
            sandbox=settings.sandbox,
            brings_sandbox=getattr(args, "sandbox", False),
            profile=args.profile,
            person=BY,
        )
        origin = said or await asyncio.to_thread(kept_address, board.folder) or DEFAULT
        yield replace(board, origin=origin)


async def _invite(args: Namespace, board: Board) -> None:
    allowance = budget_of(args, "allowance")
    made = await invite_person(board, args.name, args.role, allowance, args.again)
    if args.json:
        print_json(made.model_dump(mode="json"))
        return
    console = console_for(args)
    limit = "" if made.allowance is None else f", up to {in_credits(made.allowance)} a day"
    console.print(plain(f"{made.name} is invited as {made.role}{limit}"))
    console.print(plain(f"to log in once, within a week: {made.login}"))
    _print_reach(board)
    console.print(plain(f"a token for programs, shown this once: {made.token}"))


async def _people(args: Namespace, board: Board) -> None:
    if args.revoke is not None:
        await revoke_person(board, args.revoke)
    found = await list_people(board)
    if args.json:
        print_json(found.model_dump(mode="json"))
        return
    shown = table("People", ("name", "role", "allowance", "invited by"), numbers=("allowance",))
    for one in found.people:
        allowance = "" if one.allowance is None else as_text(one.allowance)
        role = one.role + (" (revoked)" if one.revoked else "")
        shown.add_row(*map(plain, (one.name, role, allowance, one.invited_by or "")))
    console_for(args).print(shown)


async def _link(args: Namespace, board: Board) -> None:
    days = parse_duration(args.lasts) / 86400.0
    making = partial(make_link, board, args.campaign, args.name, args.rights, days)
    made = await making(
        all_videos=args.all_videos,
        due=_day(args.due),
        select=args.select,
        logo=args.logo and await asyncio.to_thread(_file, args.logo),
    )
    if args.json:
        print_json(made.model_dump(mode="json"))
        return
    console_for(args).print(plain(f"for {made.name}, shown this once: {made.address}"))
    _print_reach(board)


def _file(named: str) -> bytes:
    try:
        return Path(named).expanduser().read_bytes()
    except OSError as error:
        words = f"{named}: {error.strerror or error}; no link was made"
        raise BadInput(words, remedy="name a picture: --logo FILE") from error


def _day(said: str | None) -> date | None:
    try:
        return None if said is None else date.fromisoformat(said)
    except ValueError:
        words = f'"{said}" is not a day; no link was made'
        raise BadInput(words, remedy="write it like 2026-12-24") from None


async def _links(args: Namespace, board: Board) -> None:
    if args.revoke is not None:
        await end_link(board, args.revoke)
    found = await list_links(board)
    if args.json:
        print_json(found.model_dump(mode="json"))
        return
    columns = ("link", "for", "campaign", "rows", "rights", "until")
    shown = table("Links", columns, numbers=("link",))
    for one in found.links:
        until = f"{datetime.fromtimestamp(one.expires_at, UTC):%Y-%m-%d %H:%M} UTC"
        cells = (one.link, one.name, one.campaign, one.selection or "all", ", ".join(one.rights))
        shown.add_row(*map(plain, (*cells, "ended" if one.revoked else until)))
    console_for(args).print(shown)


def _print_reach(board: Board) -> None:
    """Warn about an address that other people cannot open."""
    if board.is_here_only:
        remedy = "Add --url https://board.example to name the address that other people use."
        say(f"{HERE_ONLY} {remedy}")
