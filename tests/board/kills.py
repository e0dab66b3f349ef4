"""Kills of the board, and of the runs that it starts: one run, one charge a row, every video there.

What is killed is a real process, at a named point (`tasks.runtime.crash_points`); the checker reads
the service's own charge log first, and only then what the ledger says."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from callsheet.deployments.board.run_monitor import log_of
from callsheet.tasks.ledger.campaigns import find_campaign
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.plans import plans_of
from callsheet.tasks.ledger.runs import runs_of
from callsheet.tasks.ledger.values import rows_of, takes_of
from tests.board.conftest import OpenBoard, board_at
from tests.board.stage import API, approved, ended, plan_for, priced
from tests.launcher import IMPORTS
from tests.programs import ROOT, Desk, Sandbox, simple_sheet
from tests.torture.hook import visits
from tests.torture.sweep import Kill, Trial

ROWS = 3
#: Put on the path of a run's process, it arms that, once.
ARMING = f"""
import json, os, sys
order = json.loads(os.environ.get("KILL_ORDER", "null"))
if order and "callsheet.deployments.board.run_process" in sys.orig_argv:
    if not os.path.exists(order["trace"]):
        sys.path.insert(0, {str(ROOT)!r})
        from tests.torture.hook import hang_on
        hang_on(order)
"""


@contextmanager
def arming(folder: Path, kill: Kill) -> Iterator[Path]:
    """Have the first process of a run that is started from here killed; yield its trace."""
    where = folder / "armed"
    where.mkdir()
    (where / "sitecustomize.py").write_text(ARMING)
    trace = where / "trace"
    order = kill.hook(trace)
    before = {name: os.environ.get(name) for name in ("PYTHONPATH", "KILL_ORDER")}
    os.environ.update(PYTHONPATH=f"{where}{os.pathsep}{IMPORTS}", KILL_ORDER=json.dumps(order))
    try:
        yield trace
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def sheet_of(name: str) -> str:
    """Return a sheet whose videos no other trial of the same service has."""
    return simple_sheet(ROWS).replace("Kettle", name)


async def kill_run(
    folder: Path, service: Sandbox, name: str, kill: Kill, *, retake: bool = False
) -> Trial:
    """Kill the process of a run, or of other takes; the open board has it carried to its end."""
    async with board_at(folder, environ=service.environ) as board:
        plan = await plan_for(board.admin, f"{name}.csv", sheet_of(name))
        if retake:
            await ended(board.admin, await approved(board.admin, plan))
            asked = {"select": "state:delivered", "because": "another look"}
            answer = await board.admin.post(f"{API}/campaigns/{name}/retakes", json=asked)
            plan = await priced(board.admin, answer.json()["plan"])
        with arming(folder, kill) as trace:
            run = await approved(board.admin, plan)
            over = await ended(board.admin, run)
        takes = 2 if retake else 1
        found = await findings(board.board.settings.ledger, service, name, takes=takes)
        return Trial(visits(trace), [*_end(over, board, run), *found])


async def kill_board(folder: Path, service: Sandbox, name: str, kill: Kill) -> Trial:
    """Kill the board while a plan is priced, approved or started; another one is opened then."""
    desk = Desk(folder, service.environ)
    trace = folder / "trace"
    order = kill.hook(trace)
    # It may be gone at any moment, also before it says that it is ready.
    with suppress(httpx.HTTPError, json.JSONDecodeError):
        async with _open(desk, order) as who:
            plan = await plan_for(who, f"{name}.csv", sheet_of(name))
            await ended(who, await approved(who, plan))
    address = f"sqlite:///{folder / '.callsheet' / 'ledger.db'}"
    async with _open(desk, None) as who:
        plan = await _plan(who, address, name)
        run = await approved(who, plan)
        assert await approved(who, plan) == run
        over = await ended(who, run)
    wrong = [] if over["exit"] == 0 else [f"the run ended with {over['exit']}: {over['words']}"]
    return Trial(visits(trace), wrong + await findings(address, service, name, takes=1))


@asynccontextmanager
async def _open(desk: Desk, order: dict[str, Any] | None) -> AsyncIterator[httpx.AsyncClient]:
    """Open a board as a process of its own; yield its admin."""
    process = desk.start("board", "--port", "0", "--json", hook=order)
    try:
        ready = json.loads(await asyncio.to_thread(process.stdout.readline))
        headers = {"authorization": f"Bearer {ready['token']}"}
        async with httpx.AsyncClient(base_url=ready["url"], headers=headers, timeout=60) as who:
            yield who
    finally:
        process.kill()
        process.wait()


async def _plan(who: httpx.AsyncClient, address: str, name: str) -> dict[str, Any]:
    """Return the plan that was asked for before the kill; without any have one made."""
    async with await open_ledger(address) as ledger:
        known = await ledger.read(plans_of, campaign=name, limit=9)
    if known:
        return await priced(who, known[0].id)
    return await plan_for(who, f"{name}.csv", sheet_of(name))


async def findings(ledger: str, service: Sandbox, name: str, *, takes: int) -> list[str]:
    """Return what is wrong once all is over: charges, rows, runs."""
    async with await open_ledger(ledger) as opened:
        campaign = await opened.read(find_campaign, name=name)
        if campaign is None:
            return [f"there is no campaign {name}"]
        rows = await opened.read(rows_of, campaign_id=campaign.id)
        known = await opened.read(takes_of, campaign_id=campaign.id)
        runs = await opened.read(runs_of, campaign=name, limit=9)
    charges = service.charged([take.key for _, take in known if take.key])
    found = [f"{key} was charged {n} times" for key, n in charges.items() if n != 1]
    if len(charges) != ROWS * takes:
        found.append(f"{len(charges)} takes were charged instead of {ROWS * takes}")
    counts = Counter(row.state for row in rows)
    if counts != {"delivered": ROWS}:
        found.append(f"the rows are {dict(counts)}")
    if campaign.reserved or campaign.lease:
        found.append(f"{campaign.reserved} are set aside, {campaign.lease} is on the campaign")
    if len(runs) != takes:
        found.append(f"there are {len(runs)} runs instead of {takes}")
    return found


def _end(over: dict[str, Any], board: OpenBoard, run: str) -> list[str]:
    if over["exit"] == 0:
        return []
    log = log_of(board.board, run).read_text()
    return [f"the run ended with {over['exit']}: {over['words']}\n{log}"]
