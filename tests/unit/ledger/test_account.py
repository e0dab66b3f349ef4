"""Whatever happens to a campaign's rows, every account is the sum over its takes (I5)."""

from __future__ import annotations

import contextlib
import random
from decimal import Decimal

import pytest

from callsheet.tasks.ledger.accounts import Terms
from callsheet.tasks.ledger.campaigns import tally_of
from callsheet.tasks.ledger.deliveries import deliver
from callsheet.tasks.ledger.figures import NAMES, figures_of
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.moves import UnknownMove, move
from callsheet.tasks.ledger.takes import accept, refuse, settle
from callsheet.tasks.values.briefs import Brief
from tests.campaigns import NOW, VIDEO, Stage, brief, sums
from tests.unit.ledger.on_terms import account_sums, open_on

BUDGET = 60
TERMS = {
    "month_budget": Decimal(50),
    "day_budget": Decimal(45),
    "cost_center_budgets": {"sales": Decimal(25)},
    "run": "run1",
    "run_budget": Decimal(50),
}
LIMITS = {"month": 50, "day": 45, "cost_center": 25, "run": 50}
DAY = 86_400
LUCKY = ("quote", "approve", "open", "accept", "settle")
STEPS = (*LUCKY * 3, "refuse", "fail", "deliver", "hold", "edit")


def wanted(n: int, topic: str) -> Brief:
    """A brief whose cost center changes with its topic; the first two have one."""
    center = {0: "sales", 1: "sales" if topic == "Tea" else None}.get(n)
    return brief(f"r{n}", topic, cost_center=center)


class Play:
    """Takes random steps with rows as they are, or as they once were (`stale`)."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.seen: dict[int, list] = {n: [] for n in range(4)}
        self.topics = ["Tea"] * 4
        self.terms = Terms(at_limit="fit", **TERMS)  # type: ignore[arg-type]

    async def act(self, name: str, n: int, amount: int, stale: bool) -> None:
        row = await self.stage.row(f"r{n}")
        self.seen[n].append(row)
        if stale:
            row = self.seen[n][amount % len(self.seen[n])]
        write, named = self.stage.write, {"at": NOW}
        match name:
            case "quote" if row.state == "planned":
                await self.stage.quote(row.row, amount)
            case "approve" if row.state == "quoted":
                await self.stage.moved(row, "approved")
            case "open":
                # Some are sent again on another day, or in another month, than they were refused.
                at = NOW + DAY * (0, 1, 31)[amount % 3]
                await open_on(self.stage, row, self.terms, at=at)
            case "accept" if row.take:
                await write(accept, row, row.take, video_id="vid_1", **named)
            case "refuse" if row.take:
                new = "held" if amount % 2 else "rejected"
                await write(refuse, row, row.take, new=new, reason="no", **named)
            case "settle" | "fail" if row.take:
                new = "ready" if name == "settle" else "failed"
                # Never more than was reserved: what a service overcharges, no budget can hold.
                cost = Decimal(0) if amount % 3 else None
                await write(settle, row, row.take, new=new, charged=cost, **named)
            case "deliver" if row.take:
                await write(deliver, row, row.take, files=[VIDEO], **named)
            case "hold":
                await write(move, row, "held", **named)
            case "edit":
                self.topics[n] = ["Tea", "Coffee"][amount % 2]
                await self.stage.sync(*(wanted(i, t) for i, t in enumerate(self.topics)))

    async def check(self) -> None:
        account = await self.stage.ledger.read(lambda c: sums(c, self.stage.campaign.id))
        assert account[:2] == account[2:]
        assert account[0] >= 0
        assert account[0] + account[1] <= BUDGET * 1_000_000
        for found, summed in await self.stage.ledger.read(account_sums):
            assert (found.reserved, found.charged) == summed, found
            assert 0 <= found.reserved + found.charged <= LIMITS[found.kind], found
        rows = await self.stage.rows()
        assert len(rows) == 4
        tally = await self.stage.ledger.read(tally_of, campaign=self.stage.campaign)
        figures = await self.stage.ledger.read(figures_of, campaign_id=self.stage.campaign.id)
        for name in NAMES:
            assert getattr(tally, name) == sum(getattr(f, name) or 0 for f in figures.values())


@pytest.mark.merge
@pytest.mark.parametrize("seed", [1, 2])
async def test_the_account_is_the_sum_over_the_takes(ledger: Ledger, seed: int):
    chance = random.Random(seed)
    briefs = [wanted(n, "Tea") for n in range(4)]
    game = Play(await Stage.set(ledger, *briefs, budget=BUDGET))
    for _ in range(120):
        step = chance.choice(STEPS), chance.randrange(4), chance.randrange(21)
        # A step that the life of a row does not have must have changed nothing.
        with contextlib.suppress(UnknownMove):
            await game.act(*step, stale=chance.random() < 0.2)
        await game.check()
