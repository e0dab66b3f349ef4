"""What is approved is what was shown, all of it or nothing, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from callsheet.tasks.campaign.approve import approve
from callsheet.tasks.campaign.lease import lease_campaign
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import plan_sheet, priced
from callsheet.tasks.campaign.run import open_run
from callsheet.tasks.campaign.sheet_verb import sheet_verb, with_present_rows
from callsheet.tasks.campaign.steps import approve_step
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.engine.free_calls import Price
from callsheet.tasks.ledger.campaigns import ensure_campaign
from callsheet.tasks.ledger.cancel_requests import ask_to_cancel
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.present_rows import present_rows
from callsheet.tasks.runtime.errors import MovedOn, SpendRefused
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.sheet import SheetOptions, read_sheet
from tests.approvers import Approving
from tests.campaigns import NOW, Stage, brief
from tests.leasing import release_lease, take_over
from tests.programs import simple_sheet

A, B = brief("a"), brief("b", "Coffee")


#: What happens while the person is asked, and what the refusal says.
Meanwhile = Callable[[Stage], Awaitable[object]]


async def edited(stage: Stage) -> None:
    """The row has another text at the same price, as another run has left it."""
    await stage.sync(A, replace(B, request={"topic": "Cocoa", "aspect_ratio": "9:16"}))
    await stage.quote("b")


async def dearer(stage: Stage) -> None:
    await stage.quote("b", 14)


async def one_row_cancelled(stage: Stage) -> None:
    await stage.write(ask_to_cancel, stage.campaign, only=["b"], at=NOW)


async def cancelled(stage: Stage) -> None:
    await stage.write(ask_to_cancel, stage.campaign, only=None, at=NOW)
    await stage.sync(A, B)
    for row in await stage.rows():
        await stage.moved(row, "planned")
        await stage.quote(row.row)


async def taken_over(stage: Stage) -> None:
    """The lease lapsed, and another run has the campaign."""
    await stage.write(take_over, stage.campaign, owner="another")


async def taken_and_left(stage: Stage) -> None:
    await taken_over(stage)
    await stage.write(release_lease, stage.campaign, owner="another")


async def another_sheet(stage: Stage) -> None:
    await stage.write(ensure_campaign, "spring", sheet="s.csv", sheet_digest="other", at=NOW)


async def approved_elsewhere(stage: Stage) -> None:
    """Another campaign has the same rows, which a person has just approved."""
    other = await Stage.set(stage.ledger, A, B, name="autumn")
    await other.approve("a")
    await other.approve("b")


CHANGES = {
    approved_elsewhere: "a: campaign autumn approved it\n  b: campaign autumn approved it",
    edited: "b: the row was edited",
    dearer: "b: 12 credits then, 14 credits now",
    one_row_cancelled: "b: it is cancelled now",
    cancelled: "cancelled meanwhile",
    taken_over: "another run took over campaign spring",
    taken_and_left: "another run took over campaign spring",
    another_sheet: "campaign spring was given another sheet",
}


@asynccontextmanager
async def asked(stage: Stage, address: str, folder: Path, meanwhile: Meanwhile | None = None):
    """Open a run of two priced rows that asks a person, while something else happens."""
    happens = None if meanwhile is None else partial(meanwhile, stage)
    (folder / "spring.csv").write_text(simple_sheet(2))
    environ = {
        "CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1",
        "CALLSHEET_API_KEY": "mav_x",
        "CALLSHEET_LEDGER": address,
        "CALLSHEET_STORE": str(folder / "store"),
    }
    options = RunOptions(sheet=str(folder / "spring.csv"), budget=Decimal(500))
    settings = load_settings(environ=environ, folder=folder)
    approver = Approving("Alice", meanwhile=happens)
    async with open_run(options, settings, approver=approver) as run:
        run.campaign = await stage.account()
        sheet = await read_sheet(options.sheet, SheetOptions())
        run.sheet = replace(sheet, campaign="spring", digest="d", briefs=(A, B))
        await lease_campaign(run, stage.campaign, wait=0)
        prices = dict.fromkeys("ab", Price(Decimal(12)))
        run.go_by(priced(await plan_sheet(run.at.ledger, run.sheet, options), prices))
        yield run


@pytest.fixture
async def stage(ledger: Ledger) -> Stage:
    stage = await Stage.set(ledger, A, B, budget=100)
    await stage.quote("a")
    await stage.quote("b")
    return stage


async def test_a_plan_is_approved_with_its_budget(stage: Stage, made_address: str, tmp_path: Path):
    async with asked(stage, made_address, tmp_path) as run:
        await approve_step(run)
    assert {row.state for row in await stage.rows()} == {"approved"}
    assert (await stage.account()).budget == 500


@pytest.mark.safeguard(
    "tasks/campaign/approve.py",
    "if plan.sheet_digest and plan.sheet_digest != campaign.sheet_digest:",
    "if False:",
)
@pytest.mark.safeguard(
    "tasks/campaign/quotes.py", "if new := paid_since(shown, now):", "if new := []:"
)
@pytest.mark.safeguard(
    "tasks/ledger/campaigns.py",
    "if owner is not None and not owns(connection, campaign.id, owner):",
    "if owner is Ellipsis:",
)
@pytest.mark.parametrize("meanwhile", CHANGES, ids=lambda change: change.__name__)
async def test_what_changed_during_the_question_is_not_approved(
    stage: Stage, made_address: str, tmp_path: Path, meanwhile: Meanwhile
):
    async with asked(stage, made_address, tmp_path, meanwhile) as run:
        with pytest.raises(SpendRefused, match=CHANGES[meanwhile]) as caught:
            await approve_step(run)
    assert caught.value.exit_status == 4
    assert "nothing was" in str(caught.value)
    assert meanwhile is cancelled or "look at the new plan" in (caught.value.remedy or "")
    assert "approved" not in {row.state for row in await stage.rows()}
    assert (await stage.account()).budget == 100


@pytest.mark.safeguard(
    "tasks/ledger/dialect.py",
    '{"n": _APPROVAL_LOCK})',
    '{"n": __import__("random").getrandbits(60)})',
)
async def test_of_two_approvals_at_once_the_second_one_sees_the_first(
    stage: Stage, made_address: str, tmp_path: Path
):
    other = await Stage.set(stage.ledger, A, B, name="autumn")
    await other.quote("a")
    line = PlanLine(row="a", title="", action="make", digest=A.digest, priced=Decimal(12))
    loop, over = asyncio.get_running_loop(), threading.Event()
    second: list[asyncio.Task[Plan]] = []
    (tmp_path / "spring.csv").write_text(simple_sheet(2))
    sheet = await read_sheet(str(tmp_path / "spring.csv"), SheetOptions())

    def approved(connection: Connection, one: Stage, checks: Any = ()) -> Plan:
        plan = Plan(campaign=one.campaign.name, sheet="", sheet_digest="d", lines=(line,))
        plan = with_present_rows(plan, present_rows(connection, one.campaign.id, ["a"]))
        verb = sheet_verb(sheet, RunOptions(), checks)
        return approve(connection, plan, verb, by="Bo", at=NOW)

    async with await open_ledger(made_address, create=False) as ledger:

        async def approve_too() -> Plan:
            try:
                return await ledger.write(approved, one=other)
            finally:
                over.set()

        def start_the_second(*_: object) -> None:
            loop.call_soon_threadsafe(lambda: second.append(loop.create_task(approve_too())))
            # It cannot end before this transaction does; without a lock it does so at once.
            assert not over.wait(0.3)

        await stage.write(approved, stage, (start_the_second,))
        with pytest.raises(MovedOn, match="a: campaign spring approved it"):
            await second[0]
    assert (await other.row("a")).state == "quoted"


async def test_a_row_that_the_plan_does_not_show_is_not_approved(stage, made_address, tmp_path):
    async with asked(stage, made_address, tmp_path) as run:
        await stage.sync(A, B, brief("c", "Milk"))
        await stage.quote("c")
        await approve_step(run)
    assert {row.row: row.state for row in await stage.rows()}["c"] == "quoted"


@pytest.mark.safeguard(
    "tasks/campaign/steps.py", "if run.interrupted is not None:", "if run.interrupted is Ellipsis:"
)
async def test_a_run_that_was_interrupted_approves_nothing(stage, made_address, tmp_path):
    async with asked(stage, made_address, tmp_path) as run:
        run.interrupted = "cancelled on Prefect's page"
        with pytest.raises(SpendRefused, match="cancelled on Prefect's page; nothing was spent"):
            await approve_step(run)
    assert {row.state for row in await stage.rows()} == {"quoted"}
