"""A sheet is taken into the ledger: no row is dropped, and no video is paid for twice."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import event

from callsheet.tasks.ledger.database import ledger_url, make_engine
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.sync import sync_sheet
from callsheet.tasks.ledger.takes import open_take
from callsheet.tasks.ledger.values import cells_of
from tests.campaigns import NOW, Stage, brief, key_of


@pytest.mark.safeguard(
    "tasks/ledger/sync.py",
    '_ROW.where(rows.c.state == bindparam("rests"))',
    '_ROW.where((rows.c.state == bindparam("rests")) | (rows.c.id > 0))',
)
@pytest.mark.parametrize("made_address", ["postgres"], indirect=True)
async def test_a_row_that_is_sent_while_its_sheet_is_taken_in_keeps_its_brief(stage, made_address):
    """Else the video that was paid for would pass for one of the new brief."""
    row = await stage.approve()
    reading, sending = (make_engine(ledger_url(made_address), writes=True) for _ in range(2))
    begun: list[object] = []

    def meanwhile(_: object, __: object, statement: str, *___: object) -> None:
        if statement.startswith("UPDATE rows") and not begun:
            key = key_of(row)
            with sending.begin() as other:
                begun.append(open_take(other, row, key=key, body=row.body(key), at=NOW))

    event.listen(reading, "before_cursor_execute", meanwhile)
    try:
        with reading.begin() as connection:
            sync_sheet(connection, stage.campaign.id, [brief(topic="Coffee")], at=NOW)
    finally:
        reading.dispose()
        sending.dispose()

    now = await stage.row()
    assert (now.state, now.digest) == ("submitting", row.digest)
    assert now.take is not None
    assert now.take.digest == row.digest


async def test_what_costs_nothing_follows_the_sheet_at_any_time(ledger: Ledger, stage: Stage):
    row = await stage.rendering()
    own: dict[str, Any] = {"captions": ("vtt",), "priority": 3, "max_credits": Decimal("1.5")}
    own |= {"tags": ("launch", "é"), "cost_center": "42", "notes": "n", "line": 9}
    await stage.sync(brief(**own, cells=(("Topic", "Tea"),)))
    assert await stage.row() == replace(row, **own)
    cells = await ledger.read(lambda c: cells_of(c, stage.campaign.id))
    assert cells == {row.id: [("Topic", "Tea")]}
    # A column that Callsheet does not read is in the status sheet, and nowhere else.
    await stage.sync(brief(**own, cells=(("Topic", "Tea"), ("x_owner", "Ann"))))
    cells = await ledger.read(lambda c: cells_of(c, stage.campaign.id))
    assert cells == {row.id: [("Topic", "Tea"), ("x_owner", "Ann")]}


@pytest.mark.parametrize(
    ("state", "resting"),
    [("delivered", "delivered"), ("stalled", "rendering"), ("failed", "rendering")],
)
async def test_changing_back_to_a_paid_video_costs_nothing(stage: Stage, state, resting):
    first = (await stage.in_state(state)).take
    await stage.sync(brief(topic="Coffee"))
    assert (await stage.row()).state == "planned"
    await stage.sync(brief())
    row = await stage.row()
    assert (row.state, row.take) == (resting, first)
    assert "already paid for" in (row.reason or "")


async def test_a_row_that_left_comes_back_as_it_was(ledger: Ledger):
    stage = await Stage.set(ledger, brief(), brief("b"))
    delivered = await stage.delivered()
    await stage.sync()
    assert [row.state for row in await stage.rows()] == ["retired", "retired"]
    await stage.sync(brief(), brief("b"))
    assert (await stage.row()).state == "delivered"
    assert (await stage.row()).take == delivered.take
    assert (await stage.row("b")).state == "planned"
