"""A plan that waits stays the one that was mailed for as long as it says the same."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.ledger.accounts import Account
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.plans import plans_of
from callsheet.tasks.nights.approval import WAITS, keep_plan
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.sheet import SheetOptions, parse_sheet
from tests.programs import simple_sheet

NOW = 1_800_000_000.0
CONTENT = simple_sheet(1).encode()
LINE = PlanLine("r001", "A", "make", "d", priced=Decimal(12))
TODAY = Account(kind="day", name="2026-11-21", budget=Decimal(9))
PLAN = Plan(campaign="spring", sheet="/in/a.csv", sheet_digest="d", lines=(LINE,))


async def kept(ledger: Ledger, folder: Path, plan: Plan = PLAN, **how: Any) -> str:
    """Keep a plan; return its id."""
    terms = {"content": CONTENT, "night": "2026-11-20", "at": NOW, "budget": None} | how
    options = RunOptions(sheet="/in/a.csv", budget=terms.pop("budget"))
    sheet = parse_sheet(
        terms["content"], name="a.csv", options=SheetOptions(), folder=None, address="/in/a.csv"
    )
    settings = load_settings(environ=terms.pop("environ", {}), folder=folder)
    return await keep_plan(ledger, settings, sheet, plan, options=options, **terms)


@pytest.mark.parametrize(
    ("changed", "stays"),
    [
        ({"at": NOW + 86400, "night": "2026-11-21"}, True),
        # What other runs change, and what it was planned for the first time.
        ({"plan": replace(PLAN, balance=Decimal(7), live=1)}, True),
        ({"plan": replace(PLAN, accounts=(TODAY,))}, True),
        ({"plan": replace(PLAN, lines=(LINE._replace(priced=Decimal(13)),))}, False),
        ({"plan": replace(PLAN, lines=(LINE._replace(digest="e"),))}, False),
        ({"plan": replace(PLAN, retiring=("r002",))}, False),
        ({"plan": replace(PLAN, committed=Decimal(3))}, False),
        ({"content": simple_sheet(1, title="Other").encode()}, False),
        ({"budget": Decimal(40)}, False),
        ({"at": NOW + WAITS}, False),
    ],
    ids=str,
)
async def test_a_plan_stays_while_it_says_the_same(
    ledger: Ledger, tmp_path: Path, changed: dict[str, Any], stays: bool
) -> None:
    first = await kept(ledger, tmp_path)
    second = await kept(ledger, tmp_path, **changed)

    assert (first == second) is stays
    found = await ledger.read(plans_of, campaign="spring", limit=9)
    states = {plan.id: (plan.state, plan.replaced_by) for plan in found}
    assert states == {first: ("void", second)} | {second: ("ready", None)}
    expires = {plan.expires_at for plan in found if plan.id == second}
    assert expires == {changed.get("at", NOW) + WAITS}


async def test_its_total_for_an_allowance_is_the_most_that_it_may_cost(
    ledger: Ledger, tmp_path: Path
) -> None:
    environ = {"CALLSHEET_QUOTE_TOLERANCE": "10%"}
    await kept(ledger, tmp_path, replace(PLAN, retry_failed=1), environ=environ)
    (plan,) = await ledger.read(plans_of, campaign="spring", limit=9)
    assert plan.total == Decimal("26.4")
