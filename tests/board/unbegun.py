"""A run that was asked for on a board and that nobody has begun: for tests of who carries it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from callsheet.tasks.aftercare.approval import approve_on_board
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.uploads import find_in_kept
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.people import find_person
from callsheet.tasks.ledger.plans import find_plan, find_sheet
from callsheet.tasks.ledger.runs import RunRow, find_run
from tests.board.conftest import board_at, settings_at
from tests.board.stage import API, made, plan_for, priced
from tests.programs import simple_sheet

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
            assert kept is not None
            read = find_in_kept(settings, kept, options.reading(settings)).good()
            approve = partial(approve, sheet=read)
        at = found.made_at + 1
        ann = await ledger.read(find_person, name="Ann")
        return (await approve(ledger, person=ann.id, at=at)).id


async def run_of(folder: Path, run_id: str) -> RunRow:
    """Return a run as the ledger has it by now."""
    async with await open_ledger(settings_at(folder).ledger) as ledger:
        found = await ledger.read(find_run, run_id=run_id)
        assert found is not None
        return found
