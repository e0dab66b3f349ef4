"""What a standing approval is no word for, and what it counts."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, cast

import pytest

from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.ledger.campaigns import PaidElsewhere
from callsheet.tasks.ledger.inbox_sheets import see_sheets
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.nightly_runs import KeptNight, claim_night, find_night
from callsheet.tasks.nights.approval import NightApproval
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.runtime.errors import SpendRefused
from tests.campaigns import Stage

INBOX = Inbox(name="spring", place="/in", approval="auto", per_night=Decimal(100))
NIGHT = KeptNight(
    id=1, inbox="spring", date="2026-11-20", zone="UTC", begun_at=0.0,
    ended_at=None, exit=None, approved=Decimal(0), skipped=None, report=None,
)  # fmt: skip
ELSEWHERE = PaidElsewhere(campaign_id=2, campaign="autumn", costs={"a": Decimal(12)})


def approval(inbox: Inbox = INBOX, tolerance: str = "0", retries: int = 0) -> NightApproval:
    return NightApproval(
        # It is asked for a budget alone, which none of these plans has.
        ledger=cast(Ledger, None),
        inbox=inbox,
        night=NIGHT,
        since=0.0,
        place="one",
        sheet="a.csv",
        again="callsheet run a.csv",
        tolerance=Decimal(tolerance),
        retries=retries,
    )


def plan(priced: int | None = 12, **own: Any) -> Plan:
    line = PlanLine("a", "A", "make", "d", priced=None if priced is None else Decimal(priced))
    return Plan(campaign="spring", sheet="a.csv", sheet_digest="d", lines=(line,), **own)


def plan_at(*prices: int | None) -> Plan:
    several = (None if one is None else Decimal(one) for one in prices)
    lines = (PlanLine("a", "A", "make", "d", priced=price, state="quoted") for price in several)
    return Plan(campaign="spring", sheet="a.csv", sheet_digest="d", lines=tuple(lines))


TAKING_OVER = replace(plan(), lines=(PlanLine("a", "A", "adopt", "d", priced=Decimal(0)),))


async def test_a_plan_with_nothing_to_ask_about_is_approved() -> None:
    assert "standing approval of inbox spring" in (await approval().approve(plan())).by


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
async def test_what_a_person_is_asked_is_not_answered_beforehand(
    inbox: Inbox, asked: Plan, words: str
) -> None:
    with pytest.raises(SpendRefused, match=words):
        await approval(inbox).approve(asked)


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
        approval(INBOX, tolerance, retries).count, campaign=stage.campaign, plan=plan_at(*prices)
    )
    if counted is None:
        with pytest.raises(SpendRefused):
            await ledger.write(count)
    else:
        await ledger.write(count)
    found = await ledger.read(find_night, inbox="spring", date=NIGHT.date)
    assert (found.id, found.approved) == (night.id, counted or 0)
