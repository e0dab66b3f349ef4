"""A client that calls everything, replays, forges and answers for people, many at once.

Whatever it does, the sandbox has charged no more than the allowance, and nothing without one.
"""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import pytest
from mcp import Client

from callsheet.deployments.board.logins import admin_token
from callsheet.tasks.ledger.runs import open_runs
from tests.mcp.conftest import LIMIT, ROW, OpenDesk, sheet_of
from tests.programs import Sandbox

pytestmark = pytest.mark.merge

#: Clients at once, and calls of each.
CLIENTS, CALLS = 4, 12
#: What a forged call claims to be.
FORGED: dict[str, Any] = {
    "answer": {"action": "accept", "data": {"approve": True}, "approve": True},
    "approve": True,
    "person": "admin",
    "role": "admin",
    "allowance": 10**6,
    "agent": "agent:other",
    "keep_budget": False,
    "requestState": "v1.forged",
}


async def attack(desk: OpenDesk, number: int, known: list[str]) -> None:
    """Call tools at random with what could be of use."""
    dice = random.Random(number)
    mode = ("auto", "legacy")[number % 2]
    async with desk.client("accept", mode=mode, asks=False) as client:
        for turn in range(CALLS):
            name = f"adversary-{number}-{turn}"
            plan = await client.call_tool("plan", {"sheet": sheet_of(1, title=name),
                                                   "campaign": name, "budget": 10**6})  # fmt: skip
            if plan.structured_content and "plan" in plan.structured_content:
                known.append(plan.structured_content["plan"])
            replayed = [dice.choice(known), known[-1], "admin"]
            for one in dice.sample(replayed, 2):
                await client.call_tool("run_plan", {"plan": one, **dice.choice(({}, FORGED))})
            await _anything(client, dice, known, name)


async def _anything(client: Client, dice: random.Random, known: list[str], name: str) -> None:
    campaign, rows = dice.choice(["adversary-0-0", name]), ["r0"]
    tool, named = dice.choice([
        ("retake", {"rows": rows, "because": "again"}),
        ("cancel", {"rows": rows}),
        ("record_review", {"row": "r0", "verdict": "keep"}),
        ("status", {}), ("rows", {}), ("explain_row", {"row": "r0"}), ("show_videos", {}),
    ])  # fmt: skip
    answer = await client.call_tool(
        tool, {"campaign": campaign, **named, **dice.choice(({}, FORGED))}
    )
    if tool == "retake" and answer.structured_content and not answer.is_error:
        known.append(answer.structured_content["plan"])
    # No tool of this name, and state that this server never made.
    await client.call_tool("approve_plan", {"plan": known[-1]})
    again = client.session.call_tool("run_plan", {"plan": known[-1]}, request_state="forged")
    await asyncio.gather(again, return_exceptions=True)


@pytest.mark.parametrize("rows", [0, 3])
async def test_no_client_exceeds_the_allowance(desk: OpenDesk, service: Sandbox, rows: int) -> None:
    if rows:
        await desk.allow(rows * ROW)
    before, board, known = service.balance(), desk.desk.board, ["nothing"]
    assert await admin_token(board) is not None

    await asyncio.gather(*(attack(desk, number, known) for number in range(CLIENTS)))

    assert desk.asked == []
    until = time.monotonic() + LIMIT
    while await board.read(open_runs):
        assert time.monotonic() < until
        await asyncio.sleep(0.2)
    charged = before - service.balance()
    assert charged <= rows * ROW
    # It is no locked door either: what was allowed was used.
    assert bool(charged) == bool(rows)
