"""What a standing approval is no word for, what it counts, and plans that wait for a person."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.ledger.accounts import Account
from callsheet.tasks.ledger.campaigns import PaidElsewhere
from callsheet.tasks.ledger.inbox_sheets import SweptSheet, see_sheets, sheets_in
from callsheet.tasks.ledger.leases import night_lease
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.nightly_runs import KeptNight, claim_night, find_night
from callsheet.tasks.ledger.plans import plans_of
from callsheet.tasks.nights.approval import WAITS, NightApproval, keep_plan
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.records import close
from callsheet.tasks.runtime.errors import SpendRefused
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.sheet import SheetOptions, parse_sheet
from tests.campaigns import Stage
from tests.leasing import let_lapse
from tests.programs import simple_sheet

INBOX = Inbox(name="spring", place="/in", approval="auto", per_night=Decimal(100))
NIGHT = KeptNight(
    id=1, inbox="spring", date="2026-11-20", zone="UTC", begun_at=0.0,
    ended_at=None, exit=None, approved=Decimal(0), skipped=None, report=None,
)  # fmt: skip
ELSEWHERE = PaidElsewhere(campaign_id=2, campaign="autumn", costs={"a": Decimal(12)})


def approval(inbox: Inbox = INBOX, tolerance: str = "0", retries: int = 0) -> NightApproval:
    # The ledger is asked for a budget alone, which none of these plans has.
    return NightApproval(
        ledger=cast(Ledger, None), inbox=inbox, night=NIGHT, since=0.0, place="one", sheet="a.csv",
        again="callsheet run a.csv", tolerance=Decimal(tolerance), retries=retries,
    )  # fmt: skip


def plan(*prices: int | None, **own: Any) -> Plan:
    several = (None if one is None else Decimal(one) for one in prices or (12,))
    lines = (PlanLine("a", "A", "make", "d", priced=price, state="quoted") for price in several)
    return Plan(campaign="spring", sheet="a.csv", sheet_digest="d", lines=tuple(lines), **own)


TAKING_OVER = replace(plan(), lines=(PlanLine("a", "A", "adopt", "d", priced=Decimal(0)),))


@pytest.mark.safeguard("tasks/nights/approval.py", "if plan.elsewhere:", "if False:")
@pytest.mark.safeguard(
    "tasks/nights/approval.py", 'if self.inbox.approval == "plan-only":', "if False:"
)
@pytest.mark.safeguard("tasks/nights/approval.py", "if plan.adopting:", "if False:")
@pytest.mark.parametrize(
    ("inbox", "asked", "words"),
    [
        (Inbox(name="spring", place="/in"), plan(), "waits for approval: 12 credits for 1 row"),
        (INBOX, plan(None), "1 row has no readable price"),
        (INBOX, plan(elsewhere=(ELSEWHERE,)), "campaign autumn already paid for 1 of these rows"),
        (INBOX, TAKING_OVER, "1 video would be taken over, which no standing approval covers"),
        (INBOX, plan(needs_word=True, retiring=("b",), live=2), "not in its sheet any more"),
    ],
    ids=["asks", "unpriced", "paid elsewhere", "adopts", "retired"],
)
async def test_what_a_person_is_asked_is_not_answered_beforehand(inbox: Inbox, asked, words):
    assert "standing approval of inbox spring" in (await approval().approve(plan())).by
    with pytest.raises(SpendRefused, match=words):
        await approval(inbox).approve(asked)


@pytest.mark.safeguard("tasks/nights/approval.py", " * (1 + self.retries),", ",")
@pytest.mark.safeguard(
    "tasks/nights/approval.py", "credits=total * (1 + self.tolerance) *", "credits=total *"
)
@pytest.mark.parametrize(
    ("prices", "tolerance", "retries", "counted"),
    [
        ((12, 30), "0", 0, 42),
        # What a price may rise by is approved with it, and so are new takes of failed rows.
        ((40, 40), "0.25", 0, 100),
        ((40, 41), "0.25", 0, None),
        ((20, 30), "0", 1, 100),
        ((20, 31), "0", 1, None),
        ((12, None), "0", 0, None),
    ],
)
async def test_what_is_counted_is_all_that_may_be_spent(
    ledger: Ledger,
    prices: tuple[int | None, ...],
    tolerance: str,
    retries: int,
    counted: int | None,
) -> None:
    terms: dict[str, Any] = {"seconds": 60.0, "is_dead": lambda _: False, "at": 0.0}
    night = await ledger.write(
        claim_night, inbox="spring", date=NIGHT.date, zone="UTC", place="one", **terms
    )
    await ledger.write(see_sheets, inbox="spring", seen={"a.csv": "1"}, at=0.0)
    stage = await Stage.set(ledger)
    count = partial(
        approval(INBOX, tolerance, retries).count, campaign=stage.campaign, plan=plan(*prices)
    )
    if counted is None:
        with pytest.raises(SpendRefused):
            await ledger.write(count)
    else:
        await ledger.write(count)
    found = await ledger.read(find_night, inbox="spring", date=NIGHT.date)
    assert (found.id, found.approved) == (night.id, counted or 0)


SHEET = SweptSheet(name="a.csv", version="1", seen_at=0.0, outcome="delivered")


async def test_whoever_has_lost_the_night_leaves_its_sheets_as_they_are(ledger: Ledger) -> None:
    own = {"inbox": "spring", "zone": "UTC", "seconds": 60.0, "is_dead": lambda _: False}
    claim = partial(claim_night, **own, date="2026-11-20")
    night = await ledger.write(claim, place="one", at=0.0)
    await ledger.write(see_sheets, inbox="spring", seen={"a.csv": "1"}, at=0.0)
    change = partial(close, sheet=SHEET, night=night, report="{}")

    await ledger.write(let_lapse, name=night_lease("spring"))
    await ledger.write(claim, place="another", at=60.0)
    assert not await ledger.write(change, place="one")
    found = await ledger.read(sheets_in, inbox="spring")
    assert found["a.csv"].outcome is None
    assert await ledger.write(change, place="another")
    found = await ledger.read(sheets_in, inbox="spring")
    assert found["a.csv"].outcome == "delivered"


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
    settings = load_settings(environ={}, folder=folder)
    return await keep_plan(ledger, settings, sheet, plan, options=options, **terms)


@pytest.mark.safeguard(
    "tasks/nights/approval.py",
    "other.terms == terms and _lasting(other.document or {}) == _lasting(document)",
    "other.terms == terms",
)
@pytest.mark.safeguard(
    "tasks/nights/approval.py", 'if other.state_at(at) == "ready" and', "if False and"
)
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
async def test_a_plan_stays_while_it_says_the_same(ledger: Ledger, tmp_path: Path, changed, stays):
    first = await kept(ledger, tmp_path)
    second = await kept(ledger, tmp_path, **changed)

    assert (first == second) is stays
    found = await ledger.read(plans_of, campaign="spring", limit=9)
    states = {plan.id: (plan.state, plan.replaced_by) for plan in found}
    assert states == {first: ("void", second)} | {second: ("ready", None)}
    expires = {plan.expires_at for plan in found if plan.id == second}
    assert expires == {changed.get("at", NOW) + WAITS}


@pytest.mark.safeguard(
    "tasks/campaign/values.py", "return made * (1 + self.tolerance)", "return made"
)
async def test_its_total_for_an_allowance_is_the_most_that_it_may_cost(ledger, tmp_path):
    await kept(ledger, tmp_path, replace(PLAN, retry_failed=1, tolerance=Decimal("0.1")))
    (plan,) = await ledger.read(plans_of, campaign="spring", limit=9)
    assert plan.total == Decimal("26.4")
