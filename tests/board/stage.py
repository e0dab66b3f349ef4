"""From a sheet to a run, as programs do it: small steps for tests that need something made."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import httpx

from callsheet.tasks.aftercare.approval import approve_on_board
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.uploads import find_in_kept
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.people import find_person
from callsheet.tasks.ledger.plans import find_plan, find_sheet
from callsheet.tasks.ledger.runs import RunRow, find_run
from tests.board.conftest import OpenBoard, board_at, settings_at
from tests.programs import simple_sheet

API = "/api/v1"
#: How long a plan may take to be priced, and a run to end, in seconds; a busy machine is slow.
LIMIT = 120.0


async def hand_in(who: httpx.AsyncClient, name: str, sheet: str | bytes) -> dict[str, Any]:
    """Upload a sheet as a file."""
    content = sheet.encode() if isinstance(sheet, str) else sheet
    answer = await who.post(f"{API}/sheets", files={"file": (name, content)})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def plan_for(who: httpx.AsyncClient, name: str, text: str, **terms: Any) -> dict[str, Any]:
    """Hand in a sheet and have it priced."""
    sheet = (await hand_in(who, name, text))["sheet"]
    answer = await who.post(f"{API}/plans", json={"sheet": sheet, **terms})
    assert answer.status_code == 202, answer.text
    return await priced(who, answer.json()["plan"])


async def priced(who: httpx.AsyncClient, plan: str) -> dict[str, Any]:
    """Wait until a plan is no longer quoted."""
    until = time.monotonic() + LIMIT
    while True:
        answer = await who.get(f"{API}/plans/{plan}")
        assert answer.status_code == 200, answer.text
        if answer.json()["state"] != "quoting":
            return dict(answer.json())
        assert time.monotonic() < until, answer.text
        await asyncio.sleep(0.1)


async def approved(who: httpx.AsyncClient, plan: dict[str, Any], **terms: Any) -> str:
    """Approve a plan; return its run."""
    answer = await who.post(f"{API}/plans/{plan['plan']}/approve", json=terms)
    assert answer.status_code == 202, answer.text
    assert answer.json()["campaign"] == plan["campaign"]
    return str(answer.json()["run"])


async def ended(who: httpx.AsyncClient, run: str) -> dict[str, Any]:
    """Wait until a run is over."""
    until = time.monotonic() + LIMIT
    while True:
        found = (await who.get(f"{API}/runs/{run}")).json()
        if found["ended_at"] is not None and found["due_at"] is None:
            return dict(found)
        assert time.monotonic() < until, found
        await asyncio.sleep(0.2)


async def made(board: OpenBoard, name: str, text: str, **terms: Any) -> dict[str, Any]:
    """Have a sheet's videos made; return the plan that was approved, with how its run ended."""
    plan = await plan_for(board.admin, name, text, **terms)
    run = await ended(board.admin, await approved(board.admin, plan))
    return {**plan, "ended": run}


Kind = Literal["sheet", "retake"]


async def approved_plan(
    folder: Path, environ: Mapping[str, str], name: str, *, kind: Kind, trial: bool = False
) -> str:
    """Have a plan made on a board, and approved in the moment before that is killed."""
    sheet = f"{name}.csv", simple_sheet(2)
    async with board_at(folder, environ=environ, sandbox=trial) as board:
        if kind == "sheet":
            plan = await plan_for(board.admin, *sheet)
        else:
            await made(board, *sheet)
            asked = {"rows": ["r001"], "because": "another look"}
            answer = await board.admin.post(f"{API}/campaigns/{name}/retakes", json=asked)
            plan = await priced(board.admin, answer.json()["plan"])
    settings = settings_at(folder, environ)
    async with await open_ledger(settings.ledger) as ledger:
        found = await ledger.read(find_plan, plan_id=plan["plan"])
        options = RunOptions.of(found.terms)
        approve = partial(approve_on_board, plan=found, options=options, run_id=f"run-{name}")
        if found.sheet_id is not None:
            kept = await ledger.read(find_sheet, sheet_id=found.sheet_id)
            read = find_in_kept(settings, kept, options.reading(settings)).good()
            approve = partial(approve, sheet=read)
        at = found.made_at + 1
        ann = await ledger.read(find_person, name="Ann")
        return (await approve(ledger, person=ann.id, at=at)).id


async def run_of(folder: Path, run_id: str) -> RunRow:
    """Return a run as the ledger has it by now."""
    async with await open_ledger(settings_at(folder).ledger) as ledger:
        return await ledger.read(find_run, run_id=run_id)
