"""Campaigns, their account, who is at work on them, and the organisation's gate."""

from __future__ import annotations

import asyncio
from functools import partial

from callsheet.tasks.ledger import campaigns
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.service_state import close_gate, gate_of
from tests.campaigns import NOW, Stage


def spring(sheet: str = "s.csv"):
    return partial(campaigns.ensure_campaign, name="spring", sheet=sheet, sheet_digest="d", at=NOW)


async def test_a_campaign_is_made_once_and_follows_its_sheet(ledger: Ledger):
    first = await ledger.write(spring())
    second = await ledger.write(spring("other.csv"))
    assert (first.id, first.sheet) == (second.id, "s.csv")
    found = await ledger.read(campaigns.find_campaign, name="spring")
    assert found == second
    assert second.sheet == "other.csv"


async def test_two_first_runs_at_once_make_one_campaign(ledger: Ledger, made_address: str):
    async with await open_ledger(made_address) as other:
        made = await asyncio.gather(
            *(which.write(spring()) for _ in range(20) for which in (ledger, other))
        )
    assert {campaign.id for campaign in made} == {made[0].id}
    await Stage.set(ledger, name="autumn")
    newest_first = [found.name for found in await ledger.read(campaigns.all_campaigns)]
    assert newest_first == ["autumn", "spring"]


async def test_a_gate_only_ever_closes_for_longer(ledger: Ledger, made_address: str):
    assert await ledger.read(gate_of, organisation="o") is None
    async with await open_ledger(made_address) as other:
        doors = enumerate([ledger, other] * 10)
        shut = (which.write(close_gate, organisation="o", until=float(n)) for n, which in doors)
        await asyncio.gather(*shut)
    await ledger.write(close_gate, organisation="o", until=12.0)
    assert await ledger.read(gate_of, organisation="o") == 19.0
