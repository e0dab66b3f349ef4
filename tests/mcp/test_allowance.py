"""An allowance covers making videos: whatever else a plan changes needs a person, and no client,
whatever it calls, replays or forges, has more charged."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from callsheet.deployments.board.logins import admin_token
from callsheet.deployments.board.services.approval import approve
from callsheet.deployments.board.services.plans import plan_of_sheet
from callsheet.deployments.board.services.sheets import hand_in
from callsheet.deployments.mcp.caller import Caller
from callsheet.deployments.mcp.plans import priced
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.runs import open_runs
from callsheet.tasks.ledger.values import rows_of
from tests.databases import lay_ledger
from tests.mcp.conftest import LIMIT, ROW, OpenDesk, call, desk_at, finished, refused, sheet_of
from tests.programs import Sandbox


def tree(campaign: str, rows: int, *more: str) -> str:
    """Return a sheet of so many rows as YAML, with more members."""
    row = "- {{id: r{n}, title: {campaign} {n}, topic: Lighthouse, script: Here it is.}}"
    lines = [row.format(n=n, campaign=campaign) for n in range(rows)]
    return "\n".join((f"campaign: {campaign}", *more, "rows:", *lines)) + "\n"


async def admin_of(desk: OpenDesk) -> Person:
    found = await admin_token(desk.desk.board)
    return found[0]


async def made_by_a_person(desk: OpenDesk, client: Client, campaign: str) -> None:
    """Have two videos of a campaign made that a person planned and approved."""
    board, admin = desk.desk.board, await admin_of(desk)
    text = tree(campaign, 2).encode()
    board = replace(board, person=admin)
    sheet = await hand_in(board, name=f"{campaign}.yaml", content=text)
    plan = await plan_of_sheet(board, sheet.kept.id, RunOptions())
    await priced(Caller(desk=desk.desk, board=board, person=admin), plan)
    await approve(board, plan)
    await finished(client, campaign)


async def stands(desk: OpenDesk, campaign: str) -> tuple[Campaign, dict[str, str]]:
    """Return a campaign of the ledger, and the states of its rows."""
    read = desk.desk.board.read
    found = await read(partial(find_campaign, name=campaign))
    rows = await read(partial(rows_of, campaign_id=found.id))
    return found, {row.row: row.state for row in rows}


@pytest.mark.safeguard(
    "deployments/mcp/plans.py",
    'if caller.person.role == "agent" and not await caller.board.read(',
    "if False and not await caller.board.read(",
)
@pytest.mark.safeguard("tasks/aftercare/approval.py", "return begun == agent.name", "return True")
@pytest.mark.merge
@pytest.mark.parametrize("allowance", [0, 20 * ROW])
async def test_an_agent_changes_nothing_of_a_campaign_that_it_did_not_begin(
    desk: OpenDesk, service: Sandbox, allowance: int
) -> None:
    await desk.allow(allowance)
    name = f"spring-{allowance}"
    async with desk.client("cancel") as client:
        await made_by_a_person(desk, client, name)
        before, stood = service.balance(), await stands(desk, name)
        fewer = tree(name, 1, "keep_at_service: 1s", "copies: ['s3://mine/{campaign}/{name}.mp4']")
        for sheet in (fewer, tree(name, 2), tree(name, 3)):
            plan = await call(client, "plan", sheet=sheet)
            said = await refused(client, "run_plan", plan=plan["plan"])
            assert said["approve_at"] == plan["approve_at"]
        again = await call(client, "retake", campaign=name, rows=["r0"], because="dark")
        said = await refused(client, "run_plan", plan=again["plan"])
        assert said["approve_at"]
        said = await refused(client, "cancel", campaign=name)
        assert "did not begin" in said["refusal"]
        assert (await stands(desk, name))[1] == stood[1] == {"r0": "delivered", "r1": "delivered"}
        assert (await stands(desk, name))[0].keep_at_service is None

        # The question to a person says all of it.
        plan = await call(client, "plan", sheet=fewer)
        assert plan["changes"] == [
            "1 row left the sheet and is retired (r1); videos and history stay",
            "delivered videos are deleted at the service after 1s",
            f"files of 1 row are copied to s3://mine (like {name}/{{name}})",
        ]
        await refused(client, "run_plan", plan=plan["plan"])
        assert all(words in desk.asked[-1] for words in plan["changes"])
    assert service.balance() == before


@pytest.mark.merge
async def test_an_agent_s_own_campaign_grows_by_its_allowance(
    desk: OpenDesk, service: Sandbox
) -> None:
    await desk.allow(20 * ROW)
    before = service.balance()
    async with desk.client() as client:
        for rows in (1, 2):
            plan = await call(client, "plan", sheet=tree("mine", rows))
            assert (plan["changes"], plan["approve_at"]) == ([], None)
            await call(client, "run_plan", plan=plan["plan"])
            await finished(client, "mine")
        for sheet, words in (
            (tree("mine", 1), "retired"),
            (tree("mine", 3, "keep_at_service: 30d"), "after 30d"),
            (tree("mine", 3, "copies: ['s3://mine/{name}.mp4']"), "copied to s3://mine"),
            (tree("mine", 3, "names: 'x/{id}_v{take}'"), "other names: x/r0_v{take}"),
            (tree("mine", 3, "budget: 900"), "budget of the campaign becomes 900 credits"),
            (tree("new", 1, "keep_at_service: 30d"), "after 30d"),
            (tree("mine", 2).replace("id: r1", "id: r9, was: r1"), "r1 becomes r9"),
        ):
            plan = await call(client, "plan", sheet=sheet)
            said = await refused(client, "run_plan", plan=plan["plan"])
            assert words in said["refusal"]
            assert plan["approve_at"] == said["approve_at"]
        assert (await stands(desk, "mine"))[1] == {"r0": "delivered", "r1": "delivered"}
        assert (await call(client, "cancel", campaign="mine"))["asked"] == 0
    assert before - service.balance() == 2 * ROW


@pytest.mark.merge
async def test_settings_are_no_change_of_the_agent(service: Sandbox, tmp_path: Path) -> None:
    copies = f"file:{tmp_path / 'copies'}/{{name}}.mp4"
    async with desk_at(tmp_path, {**service.environ, "CALLSHEET_COPIES": copies}) as desk:
        await desk.allow(ROW)
        async with desk.client() as client:
            plan = await call(client, "plan", sheet=tree("copied", 1))
            assert (len(plan["changes"]), plan["approve_at"]) == (1, None)
            await call(client, "run_plan", plan=plan["plan"])
            await finished(client, "copied")
    assert list((tmp_path / "copies").iterdir())


@pytest.mark.safeguard(
    "tasks/aftercare/approval.py", 'if approver.role == "agent" and doubtful:', "if False:"
)
@pytest.mark.merge
async def test_what_may_be_paid_for_already_is_made_again_by_a_person_s_word_alone(
    tmp_path: Path, made_ledger: Path, service: Sandbox
) -> None:
    lay_ledger(tmp_path, made_ledger)
    service.plan_fault(on="render", do="never", nth=1)
    async with desk_at(tmp_path, {**service.environ, "CALLSHEET_DEADLINE": "1s"}) as desk:
        await desk.allow(20 * ROW)
        async with desk.client() as client:
            plan = await call(client, "plan", sheet=tree("late", 1))
            await call(client, "run_plan", plan=plan["plan"])
            await finished(client, "late")
            assert (await stands(desk, "late"))[1] == {"r0": "stalled"}
            before = service.balance()
            again = await call(client, "retake", campaign="late", rows=["r0"], because="late")
            assert again["approve_at"]
            said = await refused(client, "run_plan", plan=again["plan"])
    service.clear_faults()
    assert "a video of r0 may be paid for already" in said["refusal"]
    assert service.balance() == before


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


@pytest.mark.safeguard("deployments/mcp/caller.py", "if not self.desk.asks:", "if False:")
@pytest.mark.merge
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
