"""How many statements a row costs on its way from approved to delivered, together and alone.

A statement costs the one thread that writes more than anything else that it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, event

from callsheet.tasks.ledger.accounts import Terms
from callsheet.tasks.ledger.deliveries import deliver
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import Quoted, approve, record_quote
from callsheet.tasks.ledger.takes import accept, open_take, settle
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from tests.campaigns import NOW, VIDEO, Stage, brief, sums
from tests.unit.ledger.on_terms import account_sums
from tests.unit.ledger.test_group_commit import in_one_group

ROWS = 64
#: For each row: lock it, insert its take, four moves, its charge.
EACH = 7
#: For each of the four groups, whatever the number of its rows: BEGIN, events, files, moments, and
#: each of five accounts, at first and at the end.
EACH_GROUP = 14
#: For a row that nobody shares a commit with: as above, and its own event, accounts and files.
ALONE = 30
TERMS = Terms(run="run1", run_budget=Decimal(10_000), day_budget=Decimal(10_000))
FILES = [replace(VIDEO, kind=kind) for kind in ("mp4", "srt", "vtt")]


@pytest.fixture
def statements(ledger: Ledger) -> list[str]:
    found: list[str] = []

    def tell(_: Any, __: Any, statement: str, *___: Any) -> None:
        found.append(statement)

    event.listen(ledger._writer, "before_cursor_execute", tell)
    return found


async def approved(ledger: Ledger, rows: int) -> tuple[Stage, list[CampaignRow]]:
    briefs = [brief(f"r{n}", f"Tea {n}", cost_center="sales") for n in range(rows)]
    stage = await Stage.set(ledger, *briefs, budget=10_000)
    for row in await stage.rows():
        await stage.write(record_quote, Quoted(row, Decimal(12)), at=NOW)
    await stage.write(approve, await stage.rows(), by="Alice", at=NOW)
    return stage, await stage.rows()


def opened(row: CampaignRow) -> Callable[..., Any]:
    key = row.key()
    return partial(open_take, row=row, key=key, body=row.body(key), at=NOW, terms=TERMS)


def accepted(row: CampaignRow) -> Callable[..., Any]:
    return partial(accept, row=row, take=row.take, video_id=f"vid_{row.id}", at=NOW)


def settled(row: CampaignRow) -> Callable[..., Any]:
    return partial(settle, row=row, take=row.take, new="ready", charged=Decimal(9), at=NOW)


def delivered(row: CampaignRow) -> Callable[..., Any]:
    return partial(deliver, row=row, take=row.take, files=FILES, at=NOW)


STEPS = (opened, accepted, settled, delivered)


@pytest.mark.merge
async def test_rows_that_share_a_commit_cost_seven_statements_each(
    ledger: Ledger, statements: list[str]
):
    stage, rows = await approved(ledger, ROWS)
    statements.clear()
    for step in STEPS:
        await in_one_group(ledger, *(ledger.write(step(row)) for row in rows))
        rows = await stage.rows()
    # One more BEGIN is that of the change that keeps the writer busy.
    assert len(statements) <= EACH * ROWS + (EACH_GROUP + 1) * len(STEPS), "\n".join(statements)
    await check(stage)


@pytest.mark.parametrize("made_address", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("which", "index"),
    [
        ({}, "ix_rows_campaign_id_position_id (campaign_id=?)"),
        ({"states": ["failed"]}, "(campaign_id=? AND state=?)"),
        ({"row": "a"}, "(campaign_id=? AND row=?)"),
        ({"named": ["a", "b"]}, "(campaign_id=? AND row=?)"),
        ({"numbers": [1, 2]}, "INTEGER PRIMARY KEY (rowid=?)"),
    ],
)
async def test_rows_are_found_by_what_is_asked_for(ledger: Ledger, which: Any, index: str):
    asked: list[tuple[str, Any]] = []
    event.listen(ledger.reader, "before_cursor_execute", lambda *a: asked.append((a[2], a[3])))
    await ledger.read(rows_of, campaign_id=1, **which)
    statement, parameters = asked[-1]

    def explain(connection: Connection) -> list[str]:
        plan = f"EXPLAIN QUERY PLAN {statement}"
        return [step[3] for step in connection.exec_driver_sql(plan, parameters)]

    steps = await ledger.read(explain)
    assert any(step.startswith("SEARCH rows") and index in step for step in steps), steps


async def test_a_row_alone_costs_no_more_than_before(ledger: Ledger, statements: list[str]):
    stage, _ = await approved(ledger, 2)
    for name in ("r0", "r1"):
        # The first makes the accounts.
        statements.clear()
        for step in STEPS:
            await ledger.write(step(await stage.row(name)))
    assert len(statements) <= ALONE, "\n".join(statements)
    await check(stage)


async def check(stage: Stage) -> None:
    """Every account is what its takes add up to, and every row has its history in order."""
    account = await stage.ledger.read(lambda c: sums(c, stage.campaign.id))
    assert account[:2] == account[2:]
    for found, summed in await stage.ledger.read(account_sums):
        assert (found.reserved, found.charged) == summed, found
    rows = await stage.rows()
    assert {row.state for row in rows} == {"delivered"}
    for row in rows:
        states = [e.new for e in await stage.events(row.row) if e.kind == "state"]
        assert states[-4:] == ["submitting", "rendering", "ready", "delivered"]
        assert (row.take.video_id, row.take.delivered_at) == (f"vid_{row.id}", NOW)
