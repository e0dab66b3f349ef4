"""A row with a new id: what it keeps in the ledger, and what its keys are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from callsheet.tasks.ledger.earlier_takes import EarlierTake, earlier_of, keep_earlier
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.renames import reused_ids
from callsheet.tasks.ledger.sync import Unsynced, sync_sheet
from callsheet.tasks.ledger.values import State
from callsheet.tasks.values.briefs import Brief
from tests.campaigns import NOW, Stage, brief

STATES: tuple[State, ...] = (
    "planned", "quoted", "approved", "submitting", "rendering", "ready", "delivered", "failed",
    "held", "stalled", "uncertain", "retired",
)  # fmt: skip


@pytest.fixture
async def stage(ledger: Ledger) -> Stage:
    return await Stage.set(ledger, *(brief(row, topic=row) for row in "ab"))


def renamed(was: str = "a", row: str = "n", **own: Any) -> Brief:
    return replace(brief(row, topic="a"), was=was, **own)


@pytest.mark.safeguard("tasks/ledger/values.py", "row=self.first_id or self.row", "row=self.row")
@pytest.mark.parametrize("state", STATES)
async def test_the_row_and_its_key_are_the_same_in_every_state(stage: Stage, state: State) -> None:
    before = await stage.in_state(state)

    for _ in range(2):
        await stage.sync(renamed(), brief("b", topic="b"))

    after = await stage.row("n")
    assert (after.id, after.take, after.key()) == (before.id, before.take, before.key())
    assert [(one.row, one.first_id) for one in await stage.rows()] == [("n", "a"), ("b", None)]
    said = [one.words for one in await stage.events("n") if one.kind == "renamed"]
    assert said == ["was a"]


async def test_a_second_rename_keeps_the_first_id(stage: Stage) -> None:
    before = await stage.delivered()
    await stage.sync(renamed(), brief("b", topic="b"))

    await stage.sync(renamed("n", "m"), brief("b", topic="b"))
    # Written for a sheet in which the first id was never changed.
    await stage.sync(renamed("a", "o"), brief("b", topic="b"))

    after = await stage.row("o")
    assert (after.id, after.first_id, after.state) == (before.id, "a", "delivered")


@pytest.mark.safeguard(
    "tasks/ledger/sync.py", "or may_be_renamed(connection, campaign_id, these)", "or False"
)
@pytest.mark.safeguard(
    "tasks/ledger/renames.py",
    "return found | _same_briefs(known, others, there | taken)",
    "return found",
)
@pytest.mark.parametrize("only", [None, Unsynced([1], ["a"])])
@pytest.mark.parametrize("state", ["rendering", "delivered", "failed", "uncertain"])
async def test_the_same_brief_under_a_new_id_is_the_same_row(stage: Stage, state, only):
    before = await stage.in_state(state)
    sheet = [brief("n", topic="a"), brief("b", topic="b"), brief("m", topic="a")]

    await stage.write(sync_sheet, stage.campaign.id, sheet, at=NOW, only=only)

    after = await stage.row("n")
    assert (after.id, after.take, after.key()) == (before.id, before.take, before.key())
    assert "a" not in [one.row for one in await stage.rows()]


async def test_a_row_that_is_paid_for_under_its_new_id_stays(stage: Stage) -> None:
    old, new = await stage.delivered("a"), await stage.delivered("b")

    await stage.sync(renamed("a", "b"))

    rows = {one.row: (one.id, one.state) for one in await stage.rows()}
    assert rows == {"a": (old.id, "retired"), "b": (new.id, "planned")}


async def test_a_lost_ledger_learns_the_first_id_of_a_row_that_is_renamed_once_more(stage: Stage):
    key = (await stage.row("a")).key()
    # This ledger has never had the row; the manifest has it as "n", which was "a" at first.
    await stage.sync(brief("b", topic="b"), renamed("n", "m"))
    earlier = EarlierTake(row="n", digest=(await stage.row("m")).digest, nth=1, sent_at=1.0)

    await stage.write(
        keep_earlier, stage.campaign.id, [earlier], first=[("n", "a"), ("b", "c")], at=NOW
    )

    assert (await stage.row("m")).key() == key
    (known,) = await stage.write(earlier_of, stage.campaign.id)
    assert known.row == "m"


@pytest.mark.safeguard(
    "tasks/ledger/renames.py",
    "if first.get(brief.row, brief.row) in there - {brief.row}:",
    "if False:",
)
async def test_the_first_id_of_a_row_is_no_other_rows(stage: Stage) -> None:
    await stage.delivered()
    await stage.sync(renamed(), brief("b", topic="b"))
    sheet = [renamed(), brief("a", topic="new"), renamed("a", "c"), brief("b", topic="b")]

    def found(connection: Any) -> list[tuple[str, str, str]]:
        reused = reused_ids(connection, stage.campaign.id, sheet)
        return [(one.row, column, now) for one, column, now in reused]

    assert await stage.ledger.read(found) == [("a", "id", "n"), ("c", "was", "n")]
