"""A sheet is taken into the ledger: no row is dropped, and no video is paid for twice."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from sqlalchemy import event

from callsheet.tasks.ledger.database import ledger_url, make_engine
from callsheet.tasks.ledger.diff import diff_sheet
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.sync import sync_sheet
from callsheet.tasks.ledger.takes import open_take
from callsheet.tasks.ledger.values import STATES, TRANSITIONS, cells_of, takes_of
from tests.campaigns import NOW, Stage, brief, key_of


async def test_every_row_of_the_sheet_is_in_exactly_one_state(ledger: Ledger):
    stage = await Stage.set(ledger, *(brief(f"r{n}") for n in range(len(STATES))))
    for n, state in enumerate(STATES):
        await stage.in_state(state, f"r{n}")
    before = {row.row: row.state for row in await stage.rows()}
    await stage.sync(*(brief(f"r{n}", f"Topic {n % 2}") for n in range(3, 20)))
    rows = await stage.rows()
    assert sorted(row.row for row in rows) == sorted(f"r{n}" for n in range(20))
    for row in rows:
        assert row.state in STATES
        if before.get(row.row, row.state) != row.state:
            moves = [(e.old, e.new) for e in await stage.events(row.row) if e.kind == "state"]
            assert moves[-1][1] == row.state
            assert all(new in TRANSITIONS[old] for old, new in moves)


async def test_a_row_that_is_skipped_stays_as_it_is(ledger: Ledger):
    """It is in the sheet, but hidden: it did not leave it."""
    stage = await Stage.set(ledger, *(brief(f"r{n}") for n in range(len(STATES))))
    for n, state in enumerate(STATES):
        await stage.in_state(state, f"r{n}")
    before = await stage.rows()
    skipped = {row.row for row in before}
    await stage.sync(brief("new"), skipped=skipped)
    assert [row for row in await stage.rows() if row.row != "new"] == before
    found = await ledger.read(
        lambda c: [*diff_sheet(c, stage.campaign.id, [brief("new")], skipped=skipped)]
    )
    assert [one.brief.row for one in found if one.brief] == ["new"]


@pytest.mark.parametrize("made_address", ["postgres"], indirect=True)
async def test_a_row_that_is_sent_while_its_sheet_is_taken_in_keeps_its_brief(
    stage: Stage, made_address: str
) -> None:
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
    wish = brief(
        captions=("vtt",),
        priority=3,
        max_credits=Decimal("1.5"),
        tags=("launch", "é"),
        cost_center="42",
        notes="n",
        line=9,
        cells=(("Topic", "Tea"),),
    )
    await stage.sync(wish)
    after = await stage.row()
    assert after == replace(
        row,
        captions=("vtt",),
        priority=3,
        max_credits=Decimal("1.5"),
        tags=("launch", "é"),
        cost_center="42",
        notes="n",
        line=9,
    )
    cells = await ledger.read(lambda c: cells_of(c, stage.campaign.id))
    assert cells == {row.id: [("Topic", "Tea")]}


async def test_a_changed_row_loses_its_quote_and_counts_attempts_from_one(stage: Stage):
    await stage.quote()
    await stage.sync(brief(topic="Coffee"))
    row = await stage.row()
    assert (row.state, row.quoted, row.quoted_at, row.nth) == ("planned", None, None, 1)
    assert row.asked()["topic"] == "Coffee"


async def test_a_changed_row_that_was_delivered_gets_another_take(stage: Stage):
    first = (await stage.delivered()).take
    await stage.sync(brief(topic="Coffee"))
    second = (await stage.rendering()).take
    assert (first.number, second.number) == (1, 2)
    assert first.key != second.key


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


async def test_changing_back_after_a_second_video_finds_the_first(ledger: Ledger, stage: Stage):
    first = (await stage.delivered()).take
    await stage.sync(brief(topic="Coffee"))
    second = (await stage.delivered()).take
    await stage.sync(brief())
    assert (await stage.row()).take == first
    await stage.sync(brief(topic="Coffee"))
    assert (await stage.row()).take == second
    assert (await stage.account()).charged == 24
    assert len(await ledger.read(lambda c: takes_of(c, stage.campaign.id))) == 2


async def test_a_row_that_left_comes_back_as_it_was(ledger: Ledger):
    stage = await Stage.set(ledger, brief(), brief("b"))
    delivered = await stage.delivered()
    await stage.sync()
    assert [row.state for row in await stage.rows()] == ["retired", "retired"]
    await stage.sync(brief(), brief("b"))
    assert (await stage.row()).state == "delivered"
    assert (await stage.row()).take == delivered.take
    assert (await stage.row("b")).state == "planned"


async def test_a_row_that_left_while_under_way_is_finished(stage: Stage):
    await stage.rendering()
    await stage.sync()
    assert (await stage.row()).state == "rendering"


async def test_looking_writes_nothing(ledger: Ledger, stage: Stage):
    before = await stage.rows()
    found = await ledger.read(
        lambda c: [*diff_sheet(c, stage.campaign.id, [brief(topic="Coffee"), brief("b")])]
    )
    assert [one.diff.action for one in found] == ["make", "make"]
    assert await stage.rows() == before


async def test_two_campaigns_do_not_see_each_other(ledger: Ledger):
    spring = await Stage.set(ledger, brief(), name="spring")
    autumn = await Stage.set(ledger, brief(), name="autumn")
    await spring.sync()
    assert (await spring.row()).state == "retired"
    assert (await autumn.row()).state == "planned"


async def test_rows_that_left_stand_behind_those_of_the_sheet(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief("a"), brief("b"))
    await stage.sync(brief("c"), brief("b"), brief("d"), brief("e"))
    assert [row.row for row in await stage.rows()] == ["c", "b", "d", "e", "a"]

    await stage.sync(brief("a"), brief("b"))
    assert [row.row for row in await stage.rows()] == ["a", "b", "c", "d", "e"]
