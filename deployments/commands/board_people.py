"""`callsheet board invite | people | links`: who may come in, beside a board or without one."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from callsheet.deployments.board.acts import links, people
from callsheet.deployments.board.acts.admin import kept_address
from callsheet.deployments.board.board import Board
from callsheet.deployments.board.hosts import HERE_ONLY
from callsheet.deployments.board.visit import origin_of_site
from callsheet.deployments.commands.options import budget_of, settings_of
from callsheet.deployments.signals import run_command
from callsheet.deployments.terminal import console_for, plain, print_json, table
from callsheet.tasks.credits import as_number, as_text
from callsheet.tasks.duration import parse_duration
from callsheet.tasks.errors import BadInput
from callsheet.tasks.home import make_home
from callsheet.tasks.ledger import open_ledger
from callsheet.tasks.ledger.people import Invited, all_people
from callsheet.tasks.ledger.sessions import Link, all_links
from callsheet.tasks.visible import say

#: Who invites on the command line: whoever has the ledger.
BY = "the command line"
DEFAULT = "http://127.0.0.1:8788"


def main(args: Namespace) -> int:
    """Carry out a verb."""
    verbs: dict[str, Callable[[Namespace, Board], Awaitable[None]]] = {
        "invite": _invite,
        "people": _people,
        "link": _link,
        "links": _links,
    }
    return run_command(_with_board(args, verbs[args.verb]))


async def _with_board(args: Namespace, verb: Callable[[Namespace, Board], Awaitable[None]]) -> int:
    settings = settings_of(args)
    make_home(settings.home)
    async with await open_ledger(settings.ledger) as ledger:
        said = origin_of_site(args.url) if args.url else None
        board = Board(settings=settings, ledger=ledger, origin="", is_named=said is not None)
        origin = said or await asyncio.to_thread(kept_address, board.folder) or DEFAULT
        await verb(args, Board(settings=settings, ledger=ledger, origin=origin))
    return 0


async def _invite(args: Namespace, board: Board) -> None:
    made = await people.invite(
        board,
        BY,
        name=args.name,
        role=args.role,
        allowance=budget_of(args, "allowance"),
        again=args.again,
    )
    if args.json:
        print_json({"name": made.person.name, "role": made.person.role,
                    "login": made.login, "token": made.token,
                    "here_only": board.is_here_only})  # fmt: skip
        return
    console = console_for(args)
    console.print(plain(f"{made.person.name} is invited as {made.person.role}"))
    console.print(plain(f"to log in once, within a week: {made.login}"))
    _say_reach(board)
    console.print(plain(f"a token for programs, shown this once: {made.token}"))


async def _people(args: Namespace, board: Board) -> None:
    if args.revoke is not None and not await people.revoke(board, BY, args.revoke):
        raise BadInput(
            f'there is no person called "{args.revoke}"',
            remedy="`callsheet board people` lists them",
        )
    found = await board.read(partial(all_people))
    if args.json:
        print_json({"people": [_document(one) for one in found]})
        return
    shown = table("People", ("name", "role", "allowance", "invited by"), numbers=("allowance",))
    for one in found:
        revoked = " (revoked)" if one.revoked_at is not None else ""
        allowance = "" if one.person.allowance is None else as_text(one.person.allowance)
        cells = (one.person.name, one.person.role + revoked, allowance, one.invited_by or "")
        shown.add_row(*map(plain, cells))
    console_for(args).print(shown)


async def _link(args: Namespace, board: Board) -> None:
    lasts = parse_duration(args.lasts)
    made = await links.make(
        board, BY, campaign=args.campaign, name=args.name, rights=args.rights, lasts=lasts
    )
    if args.json:
        document = {**_link_document(made.link), "address": made.address}
        print_json({**document, "here_only": board.is_here_only})
        return
    console_for(args).print(plain(f"for {made.link.name}, shown this once: {made.address}"))
    _say_reach(board)


async def _links(args: Namespace, board: Board) -> None:
    if args.revoke is not None and not await links.end(board, BY, args.revoke):
        raise BadInput(f"no link {args.revoke} holds", remedy="`callsheet board links` lists them")
    found = await board.read(partial(all_links))
    if args.json:
        print_json({"links": [_link_document(one) for one in found]})
        return
    shown = table("Links", ("link", "for", "campaign", "rights", "until"), numbers=("link",))
    for one in found:
        until = f"{datetime.fromtimestamp(one.expires_at, UTC):%Y-%m-%d %H:%M} UTC"
        until = until if one.revoked_at is None else "ended"
        cells = (one.id, one.name, one.campaign, ", ".join(sorted(one.rights)), until)
        shown.add_row(*map(plain, cells))
    console_for(args).print(shown)


def _say_reach(board: Board) -> None:
    """Warn about an address that other people cannot open."""
    if board.is_here_only:
        remedy = "Add --url https://board.example to name the address that other people use."
        say(f"{HERE_ONLY} {remedy}")


def _link_document(one: Link) -> dict[str, Any]:
    return {
        "link": one.id,
        "campaign": one.campaign,
        "name": one.name,
        "rights": sorted(one.rights),
        "expires_at": one.expires_at,
        "revoked": one.revoked_at is not None,
    }


def _document(one: Invited) -> dict[str, Any]:
    return {
        "name": one.person.name,
        "role": one.person.role,
        "allowance": as_number(one.person.allowance),
        "invited_by": one.invited_by,
        "revoked": one.revoked_at is not None,
    }
