"""Days, cost centers and runs have budgets too; no two processes can both pass one."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from callsheet.tasks.ledger import schema as tables
from callsheet.tasks.ledger.accounts import Account, Terms, all_accounts
from callsheet.tasks.ledger.campaigns import set_budget
from callsheet.tasks.ledger.database import insert_unless_there, ledger_url, make_engine
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.quotes import approve
from callsheet.tasks.ledger.takes import settle
from callsheet.tasks.values.amounts import CreditPrice
from tests.campaigns import NOW, Stage, brief
from tests.leasing import acquire_lease
from tests.unit.ledger.on_terms import account_sums, open_on

DAY = 86_400
FIRST = "1970-01-01"
#: The accounts of a take of the first day, for sales, in run r1.
SPENT = {("month", FIRST[:7]), ("day", FIRST), ("cost_center", "sales"), ("run", "r1")}


async def accounts(stage: Stage) -> dict[tuple[str, str], Account]:
    """The accounts by kind and name, checked against the takes."""
    for found, summed in await stage.ledger.read(account_sums):
        assert (found.reserved, found.charged) == summed, found
    return {(a.kind, a.name): a for a in await stage.ledger.read(all_accounts)}


def limited(**terms: Any) -> Terms:
    """Terms, whose amounts are written as whole numbers."""
    amounts = {k: Decimal(v) if isinstance(v, int) else v for k, v in terms.items()}
    return Terms(**amounts)


async def test_a_day_counts_whether_it_is_limited_or_not(ledger: Ledger):
    """A budget that is set in the afternoon knows what was spent in the morning."""
    stage = await Stage.set(ledger, brief(), brief("b"))
    await open_on(stage, await stage.approve(), None)
    assert await open_on(stage, await stage.approve("b"), limited(day_budget=20)) is None
    assert (await stage.row("b")).state == "held"


LEFT = "needs 12 credits, and 8 of the 20 credits of the budget of"
BEYOND: list[tuple[dict[str, Any], str, str]] = [
    (
        {"month_budget": 20, "day_budget": 20},
        f"{LEFT} 1970-01 (UTC) are left; used by spring 12",
        "run again from 1970-02-01 00:00 UTC on, or raise month_budget",
    ),
    (
        {"day_budget": 20, "credit_price": CreditPrice(Decimal("0.5"), "USD")},
        "needs 12 credits (6.00 USD), and 8 (4.00 USD) of the 20 credits (10.00 USD) of the",
        "used by spring 12 (6.00 USD): run again from 1970-01-02 00:00 UTC on, or raise day_budget",
    ),
    (
        {"run": "r1", "run_budget": 13},
        "1 of the 13 credits of this run's budget is left",
        "run again, or with a higher --run-budget",
    ),
    (
        {"cost_center_budgets": {"sales": Decimal("23.5")}},
        "11.5 of the 23.5 credits of the budget of cost center sales are left",
        "raise it in cost_center_budgets and run again",
    ),
]


@pytest.mark.parametrize(("terms", "words", "way"), BEYOND)
async def test_a_row_beyond_an_account_is_held_and_says_when_it_may_fit(ledger, terms, words, way):
    stage = await Stage.set(ledger, *(brief(r, cost_center="sales") for r in "ab"))
    limits = limited(**terms)
    assert await open_on(stage, await stage.approve("a"), limits)
    assert await open_on(stage, await stage.approve("b"), limits) is None
    row = await stage.row("b")
    assert (row.state, row.take) == ("held", None)
    assert words in (row.reason or "")
    assert (row.reason or "").endswith(way)
    assert {a.reserved for a in (await accounts(stage)).values()} == {12}
    assert (await stage.account()).reserved == 12


async def test_a_row_beyond_a_day_names_the_campaigns_that_use_it_and_what_can_be_cancelled(ledger):
    terms = limited(day_budget=60, at_limit="fit")
    for name in ("a", "b", "c", "d", "e"):
        one = await Stage.set(ledger, brief(), name=name)
        assert await open_on(one, await one.approve(), terms)
        if name != "a":
            await one.moved(await one.row("a"), "rendering")
            row = await one.row("a")
            await one.write(settle, row, row.take, new="ready", charged=Decimal(12), at=NOW)
    stage = await Stage.set(ledger, *map(brief, "xy"), name="late")
    for row in "xy":
        assert await open_on(stage, await stage.approve(row), terms) is None
    left = "needs 12 credits, and 0 of the 60 credits of the budget of 1970-01-01 (UTC) are left"
    way = "run again from 1970-01-02 00:00 UTC on, or raise day_budget"
    assert (await stage.row("x")).reason == (
        f"{left}; used by a 12, b 12, c 12, other campaigns 24: {way}; or cancel a, which has "
        "12 credits reserved"
    )
    assert (await stage.row("y")).reason == f"{left}: {way}"


@pytest.mark.safeguard(
    "tasks/ledger/accounts.py",
    "name=month_of(day), budget=self.month_budget),",
    "name=month_of(day), budget=None),",
)
@pytest.mark.safeguard(
    "tasks/ledger/accounts.py",
    '("month", None if marks.day is None else month_of(marks.day)),',
    '("month", None),',
)
@pytest.mark.parametrize(
    ("hours", "begun"), [(31 * 24 - 1, False), (31 * 24 + 1, True), (59 * 24 + 1, True)]
)
async def test_a_month_sends_no_more_than_its_budget_also_over_its_last_midnight(
    ledger: Ledger, hours: int, begun: bool
):
    """What is sent in a month counts in it, whenever it is charged."""
    stage = await Stage.set(ledger, *map(brief, "abc"))
    terms = limited(month_budget=20, day_budget=20)
    assert await open_on(stage, await stage.approve("a"), terms)
    at = hours * 3600.0
    assert (await open_on(stage, await stage.approve("b"), terms, at=at) is not None) == begun
    await stage.moved(await stage.row("a"), "rendering")
    row = await stage.row("a")
    await stage.write(settle, row, row.take, new="ready", charged=Decimal(11), at=at)
    found = await accounts(stage)
    assert found["month", "1970-01"].charged == 11
    if begun:
        later = "1970-02" if hours < 59 * 24 else "1970-03"
        assert found["month", later].reserved == 12
        assert await open_on(stage, await stage.approve("c"), terms, at=at + 3 * DAY) is None


async def test_a_charge_of_the_next_day_counts_on_the_day_of_the_intent(ledger: Ledger):
    stage = await Stage.set(ledger, brief(cost_center="sales"))
    await open_on(stage, await stage.approve(), limited(run="r1", run_budget=50))
    row, found = await stage.row(), await accounts(stage)
    assert found.keys() == SPENT
    assert (found["run", "r1"].left, found["day", FIRST].left) == (38, None)
    # Whose row it is has changed since; whose money it was has not.
    await stage.sync(brief(cost_center="marketing"))
    assert await stage.moved(row, "rendering")
    row = await stage.row()
    cost = {"charged": Decimal(9), "at": NOW + DAY}
    assert await stage.write(settle, row, row.take, new="ready", **cost)
    found = await accounts(stage)
    assert {key: (a.reserved, a.charged) for key, a in found.items()} == dict.fromkeys(
        SPENT, (0, 9)
    )


@pytest.mark.parametrize(("at_limit", "begun"), [("stop", "a"), ("fit", "ac")])
async def test_at_its_limit_a_run_stops_or_goes_on_with_what_fits(ledger: Ledger, at_limit, begun):
    stage = await Stage.set(ledger, *map(brief, "abcd"))
    terms = limited(day_budget=20, at_limit=at_limit)
    for name, price in zip("abcd", (12, 12, 8, 1), strict=True):
        await open_on(stage, await stage.approve(name, price), terms)
    rows = await stage.rows()
    assert "".join(row.row for row in rows if row.state == "submitting") == begun
    assert {row.state for row in rows if row.row not in begun} == {"held"}
    if at_limit == "stop":
        assert (rows[2].reason or "").startswith("not begun, since b did not fit the budget of")


@pytest.mark.safeguard(
    "tasks/ledger/leases.py", 'leases.c.owner == bindparam("the_owner", type_=String),', ""
)
async def test_a_run_that_lost_its_campaign_begins_nothing_in_it(stage: Stage):
    row = await stage.approve()
    await stage.write(acquire_lease, stage.campaign, owner="b")
    assert await open_on(stage, row, Terms(owner="a")) is None
    assert (await stage.row()).state == "approved"
    assert {a.reserved for a in (await accounts(stage)).values()} <= {0}
    assert await open_on(stage, row, Terms(owner="b"))


@pytest.mark.merge
async def test_opens_of_several_programs_at_once_never_pass_any_limit(ledger, made_address):
    """Three campaigns, two programs, one day and one cost center for all of them."""
    stages = [
        await Stage.set(
            ledger, *(brief(f"r{n}", cost_center="sales") for n in range(8)), name=f"c{m}"
        )
        for m in range(3)
    ]
    for stage in stages:
        for row in await stage.rows():
            await stage.quote(row.row, 7)
        await stage.write(approve, await stage.rows(), by="Alice", at=NOW)
    limits = {"day_budget": Decimal(75), "cost_center_budgets": {"sales": Decimal(75)}}
    limits |= {"month_budget": Decimal(60)}
    await stages[0].write(set_budget, stages[0].campaign, budget=Decimal(20), at=NOW)
    async with await open_ledger(made_address) as other:
        opens = [
            open_on(Stage(which, stage.campaign), row, Terms(at_limit="fit", **limits))  # type: ignore[arg-type]
            for stage in stages
            for row in await stage.rows()
            for which in (ledger, other)
        ]
        took = [take for take in await asyncio.gather(*opens) if take]
    assert len(took) == 60 // 7
    found = await accounts(stages[0])
    assert {key: a.reserved for key, a in found.items()} == dict.fromkeys(
        SPENT - {("run", "r1")}, 56
    )
    assert sum([(await stage.account()).reserved for stage in stages]) == 56
    assert (await stages[0].account()).reserved <= 20


@pytest.mark.parametrize("limit", [None, Decimal(100)])
async def test_the_first_of_a_day_fits_though_another_program_begins_that_day_just_now(
    stage: Stage, made_address: str, limit: Decimal | None
):
    row = await stage.approve("a")
    day = {"kind": "day", "name": "1970-01-01", "reserved": 0, "charged": 0, "budget": None}
    other = make_engine(ledger_url(made_address), writes=True)
    with other.connect() as connection:
        transaction = connection.begin()
        insert_unless_there(connection, tables.accounts, day)
        opening = asyncio.create_task(open_on(stage, row, Terms(day_budget=limit)))
        # It waits for that one, wherever it has come to by then.
        await asyncio.sleep(0.5)
        transaction.commit()
    other.dispose()
    assert await opening is not None
    assert (await stage.row("a")).state == "submitting"
