"""`callsheet allow`: let an agent approve credits by itself, list agents, revoke one."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.services import people
from callsheet.deployments.commands.board import BY, open_board
from callsheet.deployments.commands.options import budget_of
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json, table
from callsheet.tasks.ledger.people import all_people
from callsheet.tasks.ledger.plans import approved_today
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.amounts import as_number, as_text, in_credits


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent: the credits that it may approve a day, and has approved today (UTC)."""

    name: str
    allowance: Decimal
    approved: Decimal
    revoked: bool

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints of it."""
        return {
            "name": self.name,
            "credits": as_number(self.allowance),
            "approved_today": as_number(self.approved),
            "revoked": self.revoked,
        }


def main(args: Namespace) -> int:
    """Change an agent's allowance or token, or list agents. Raises BadInput."""
    return run_command(_main(args))


async def _main(args: Namespace) -> int:
    if args.agent is None and (args.credits or args.revoke or args.token):
        raise BadInput(
            "this needs the name of an agent",
            remedy="write it like `callsheet allow agent:NAME --credits N`",
        )
    allows = args.credits is not None or args.token
    async with open_board(args, create=allows) as board:
        if allows:
            return await _allow(args, board)
        if args.revoke and not await people.revoke(board, BY, people.agent_name(args.agent)):
            raise _unknown(args.agent)
        _show(args, await _agents(board, args.agent))
    return 0


async def _allow(args: Namespace, board: Board) -> int:
    agent, token = await people.allow(
        board, BY, args.agent, allowance=budget_of(args, "credits"), renew=args.token
    )
    if args.json:
        print_json({"name": agent.name, "credits": as_number(agent.allowance), "token": token})
        return 0
    console = console_for(args)
    credits = in_credits(agent.allowance or Decimal(0))
    console.print(plain(f"{agent.name} may approve {credits} a day (UTC) by itself"))
    if token is not None:
        console.print(plain(f"a token for {board.origin}/mcp, shown this once: {token}"))
    return 0


async def _agents(board: Board, name: str | None) -> list[Agent]:
    """Return the agents, or the one of this name; raise BadInput if there is none."""
    everyone = await board.read(all_people)
    found = [
        Agent(
            name=one.person.name,
            allowance=one.person.allowance or Decimal(0),
            approved=await board.read(approved_today, person=one.person.name, at=board.clock()),
            revoked=one.revoked_at is not None,
        )
        for one in everyone
        if one.person.role == "agent" and name in (None, one.person.name)
    ]
    if name is not None and not found:
        raise _unknown(name)
    return found


def _unknown(name: str) -> BadInput:
    return BadInput(
        f'there is no agent called "{name}"',
        remedy="`callsheet allow` lists them",
    )


def _show(args: Namespace, agents: list[Agent]) -> None:
    if args.json:
        print_json({"agents": [one.as_json() for one in agents]})
        return
    shown = table(
        "Agents", ("name", "credits per day", "approved today"),
        numbers=("credits per day", "approved today"),
    )  # fmt: skip
    for one in agents:
        revoked = " (revoked)" if one.revoked else ""
        cells = (one.name + revoked, as_text(one.allowance), as_text(one.approved))
        shown.add_row(*map(plain, cells))
    console = console_for(args)
    if agents:
        console.print(shown)
    else:
        console.print("no agents yet; `callsheet allow agent:NAME --credits N` lets one in")
