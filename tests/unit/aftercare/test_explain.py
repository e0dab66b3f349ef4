"""What is said to come next is what comes next, and every state has something to type."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import get_args

import pytest

from callsheet.deployments.parser import build_parser
from callsheet.tasks.aftercare.explain import LANES, commands_for, next_run
from callsheet.tasks.engine.policy.decision import Lane, Rules
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.values import STATES
from tests.campaigns import NOW, Stage, brief
from tests.programs import Desk


@pytest.mark.parametrize(
    ("state", "action", "rests", "lane"),
    [
        ("planned", "make", "planned", "submit"),
        ("submitting", "fetch", "submitting", "submit"),
        ("stalled", "fetch", "rendering", "poll"),
        ("delivered", "none", "delivered", None),
        ("failed", "person", "failed", None),
    ],
)
async def test_the_next_run_is_told_as_the_plan_would_tell_it(stage, state, action, rests, lane):
    comes = next_run(await stage.in_state(state), now=NOW, rules=Rules())
    assert (comes.action, comes.rests, comes.lane) == (action, rests, lane)
    assert (await stage.row()).state == state
    assert set(LANES) == set(get_args(Lane)), "every lane has words"


async def test_a_row_that_nobody_changed_is_approved_still_whatever_its_sheet_says(ledger: Ledger):
    own = {"cost_center": "art", "max_credits": Decimal(20), "priority": 3, "notes": "n"}
    stage = await Stage.set(ledger, brief(**own))
    comes = next_run(await stage.approve(), now=NOW, rules=Rules())
    assert (comes.action, comes.rests) == ("make", "approved")


async def test_every_command_line_that_is_told_can_be_typed(ledger: Ledger) -> None:
    parser = build_parser()
    for state in STATES:
        stage = await Stage.set(ledger, brief(), name=f"c-{state}")
        commands = commands_for(stage.campaign, await stage.in_state(state))
        assert commands
        for command in commands:
            program, *words = command.line.split()
            assert program == "callsheet"
            parser.parse_args(words)


@pytest.mark.parametrize("state", ["ready", "held"])
async def test_nothing_is_suggested_to_cancel_once_the_video_is_made(ledger: Ledger, state) -> None:
    stage = await Stage.set(ledger, brief())
    row = await stage.ready()
    if state == "held":
        assert await stage.moved(row, "held", "its video is corrupt")
    lines = [command.line for command in commands_for(stage.campaign, await stage.row())]
    assert lines
    assert not [line for line in lines if "callsheet cancel" in line]


async def test_a_row_that_is_switched_off_is_not_said_to_be_made_by_a_run(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief(enabled=False))
    [run, _cancel] = commands_for(stage.campaign, await stage.row())
    assert run.does.startswith("after enabled is yes in its line of the sheet")


async def test_it_begins_with_what_can_be_done_and_ends_with_keys_and_digests(tmp_path: Path):
    address = f"sqlite:///{tmp_path / 'ledger.db'}"
    async with await open_ledger(address) as ledger:
        key = (await (await Stage.set(ledger, brief())).failed()).take.key
    explain = partial(Desk(tmp_path, {"CALLSHEET_LEDGER": address}).call, "explain", "spring", "a")

    said = (await asyncio.to_thread(explain)).out
    heads = [line for line in said.splitlines() if line and not line.startswith(" ")]
    assert heads[1] == "what you can do"
    assert "callsheet retake spring a --run" in said.partition("\nwhy")[0]
    assert key not in said
    assert f"{key[:12]}…" in said.partition("\ndetails")[2]
    assert key in (await asyncio.to_thread(explain, "-v")).out
