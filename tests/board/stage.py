"""From a sheet to a run, as programs do it: small steps for tests that need something made."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx

from tests.board.conftest import OpenBoard

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
