"""Campaigns, their account, who is at work on them, and the organisation's gate."""

from __future__ import annotations

import asyncio
from functools import partial

from callsheet.tasks.ledger.campaigns import (
    all_campaigns,
    ensure_campaign,
    find_campaign,
    tally_of,
)
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.service_state import close_gate, gate_of
from tests.campaigns import NOW, Stage, brief


def spring(sheet: str = "s.csv"):
    return partial(ensure_campaign, name="spring", sheet=sheet, sheet_digest="d", at=NOW)


async def test_a_campaign_is_made_once_and_follows_its_sheet(ledger: Ledger):
    first = await ledger.write(spring())
    second = await ledger.write(spring("other.csv"))
    assert (first.id, first.sheet) == (second.id, "s.csv")
    found = await ledger.read(find_campaign, name="spring")
    assert found == second
    assert second.sheet == "other.csv"


async def test_two_first_runs_at_once_make_one_campaign(ledger: Ledger, made_address: str):
    async with await open_ledger(made_address) as other:
        made = await asyncio.gather(
            *(which.write(spring()) for _ in range(20) for which in (ledger, other))
        )
    assert {campaign.id for campaign in made} == {made[0].id}
    await Stage.set(ledger, name="autumn")
    newest_first = [found.name for found in await ledger.read(all_campaigns)]
    assert newest_first == ["autumn", "spring"]


async def test_the_tally_adds_up_to_the_sheet(ledger: Ledger):
    stage = await Stage.set(ledger, *(brief(f"r{n}") for n in range(6)), budget=100)
    await stage.quote("r0", 3)
    await stage.rendering("r1")
    await stage.delivered("r2")
    await stage.sync(*(brief(f"r{n}") for n in range(5)))
    tally = await ledger.read(tally_of, campaign=stage.campaign)
    assert tally.as_json() == {
        "total": 6, "planned": 2, "quoted": 1, "rendering": 1, "delivered": 1, "retired": 1,
    }  # fmt: skip
    assert list(tally.rows) == ["planned", "quoted", "rendering", "delivered", "retired"]
    assert (tally.quoted, tally.reserved, tally.charged, tally.budget) == (27, 12, 12, 100)


async def test_a_gate_only_ever_closes_for_longer(ledger: Ledger, made_address: str):
    assert await ledger.read(gate_of, organisation="o") is None
    async with await open_ledger(made_address) as other:
        doors = enumerate([ledger, other] * 10)
        shut = (which.write(close_gate, organisation="o", until=float(n)) for n, which in doors)
        await asyncio.gather(*shut)
    await ledger.write(close_gate, organisation="o", until=12.0)
    assert await ledger.read(gate_of, organisation="o") == 19.0
