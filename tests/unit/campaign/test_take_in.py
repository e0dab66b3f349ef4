"""A large sheet is taken into the ledger in pieces, and a row that has another id stays one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import plan_sheet
from callsheet.tasks.campaign.sheet_verb import campaign_of, take_rows_in
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.values import rows_of
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.briefs import Brief
from tests.campaigns import NOW, Stage, brief

OPTIONS = RunOptions(sheet="s.csv")


@dataclass
class Watched:
    """A ledger, and how many rows it had whenever somebody else could have written."""

    ledger: Ledger
    seen: list[int] = field(default_factory=list)

    async def read(self, query: Any, /, *args: Any, **named: Any) -> Any:
        return await self.ledger.read(query, *args, **named)

    async def write(self, change: Any, /, *args: Any, **named: Any) -> Any:
        done = await self.ledger.write(change, *args, **named)
        self.seen.append(len(await self.ledger.read(rows_of, campaign_id=1)))
        return done


async def taken_in(ledger: Ledger, *briefs: Brief) -> list[int]:
    """Take a sheet in; return how many rows there were after each piece."""
    sheet = Sheet(
        campaign="spring", address="s.csv", name="s.csv", digest="d" * 64, budget=None,
        briefs=briefs, columns=(), advice=(),
    )  # fmt: skip
    plan = await plan_sheet(ledger, sheet, OPTIONS)
    campaign = await ledger.write(campaign_of, sheet=sheet, options=OPTIONS, at=NOW)
    watched = Watched(ledger)
    await take_rows_in(watched, campaign, sheet, OPTIONS, plan, at=NOW)
    return watched.seen


def many(first: int, last: int) -> list[Brief]:
    return [brief(f"r{n}", topic=f"topic {n}") for n in range(first, last)]


@pytest.mark.merge
async def test_others_write_between_two_pieces(ledger: Ledger) -> None:
    assert await taken_in(ledger, *many(0, 4500)) == [2000, 4000, 4500]
    assert await taken_in(ledger, *many(0, 4500)) == []
    assert await taken_in(ledger, *many(0, 4600)) == [4600]


@pytest.mark.merge
async def test_a_row_of_a_later_piece_that_has_another_id_keeps_its_video(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief("old", topic="Tea"), *many(0, 10))
    await stage.delivered("old")

    seen = await taken_in(ledger, *many(0, 4000), brief("new", topic="Tea"))

    rows = {row.row: row for row in await stage.rows()}
    assert seen[-1] == 4001
    assert rows["new"].state == "delivered"
    assert "old" not in rows


@pytest.mark.merge
async def test_a_sheet_that_was_taken_in_together_is_not_taken_in_again(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief("old", topic="Tea"), *many(0, 10))
    await stage.delivered("old")

    assert await taken_in(ledger, brief("new", topic="Tea"), *many(0, 4000)) == [4001]
