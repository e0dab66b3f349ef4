"""`callsheet allow`: let an agent approve credits by itself, list agents, revoke one."""

from __future__ import annotations

import re
from argparse import Namespace
from decimal import Decimal

from pydantic import BaseModel

from callsheet.deployments.at import At
from callsheet.deployments.commands.board import open_board
from callsheet.deployments.commands.options import budget_of
from callsheet.deployments.commands.people import LONGEST_NAME, revoke_person
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json, table
from callsheet.deployments.tokens import digest_of, make_token
from callsheet.tasks.ledger import people as ledger_people
from callsheet.tasks.ledger.people import AGENT
from callsheet.tasks.ledger.plans import approved_today
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.amounts import as_text, in_credits
from callsheet.tasks.values.answers import Credits


class AllowedAgent(BaseModel):
    """An agent, the credits that it may approve a day, and its new token, shown this once."""

    name: str
    credits: Credits
    token: str | None


class Agent(BaseModel):
    """An agent: the credits that it may approve a day, and has approved today (UTC)."""

    name: str
    credits: Credits
    approved_today: Credits
    revoked: bool


class Agents(BaseModel):
    """Every agent that was ever let in."""

    agents: list[Agent]


async def allow_agent(
    at: At, name: str, credits: Decimal | None = None, renew: bool = False
) -> AllowedAgent:
    """Let an agent approve so many credits a day; None leaves its allowance, a new one has 0.

    `renew` gives it a new token. Raises BadInput for a name that is not `agent:NAME`, and for an
    agent that was revoked unless it gets an allowance.
    """
    token = make_token(at.token) if renew else None
    agent = await at.write(
        ledger_people.allow_agent,
        name=agent_name(name),
        allowance=credits,
        token=None if token is None else digest_of(token),
        by=at.by,
        at=at.clock(),
    )
    return AllowedAgent(name=agent.name, credits=agent.allowance or Decimal(0), token=token)


async def list_agents(at: At, name: str | None = None) -> Agents:
    """List agents, or the one of this name; raise BadInput if there is none."""
    found = [
        Agent(
            name=one.person.name,
            credits=one.person.allowance or Decimal(0),
            approved_today=await at.read(approved_today, person=one.person.name, at=at.clock()),
            revoked=one.revoked_at is not None,
        )
        for one in await at.read(ledger_people.all_people)
        if one.person.role == "agent" and name in (None, one.person.name)
    ]
    if name is not None and not found:
        raise BadInput(f'there is no agent called "{name}"', remedy="`callsheet allow` lists them")
    return Agents(agents=found)


def agent_name(name: str) -> str:
    """Return the name of an agent; raise BadInput where it is none."""
    if re.fullmatch(AGENT + r"[A-Za-z0-9_.-]{1,70}", name) is None:
        raise BadInput(
            f'"{name[:LONGEST_NAME]}" is not the name of an agent',
            remedy="write it like agent:claude, with letters, digits, dots and dashes",
        )
    return name


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
    async with open_board(args, create=allows) as at:
        if allows:
            credits = budget_of(args, "credits")
            _show_allowed(args, await allow_agent(at, args.agent, credits, args.token), at)
            return 0
        if args.revoke:
            await list_agents(at, agent_name(args.agent))
            await revoke_person(at, args.agent)
        _show(args, await list_agents(at, args.agent))
    return 0


def _show_allowed(args: Namespace, agent: AllowedAgent, at: At) -> None:
    if args.json:
        print_json(agent.model_dump(mode="json"))
        return
    console = console_for(args)
    credits = in_credits(agent.credits)
    console.print(plain(f"{agent.name} may approve {credits} a day (UTC) by itself"))
    if agent.token is not None:
        console.print(plain(f"a token for {at.origin}/mcp, shown this once: {agent.token}"))


def _show(args: Namespace, found: Agents) -> None:
    if args.json:
        print_json(found.model_dump(mode="json"))
        return
    numbers = ("credits per day", "approved today")
    shown = table("Agents", ("name", *numbers), numbers=numbers)
    for one in found.agents:
        cells = (as_text(one.credits), as_text(one.approved_today))
        shown.add_row(plain(one.name + (" (revoked)" if one.revoked else "")), *map(plain, cells))
    console = console_for(args)
    if found.agents:
        console.print(shown)
    else:
        console.print("no agents yet; `callsheet allow agent:NAME --credits N` lets one in")
