"""What all campaigns cost: by every grouping, within a time, real and sandbox apart."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from callsheet.tasks.aftercare.costs import By, CostsOut, costs, own_columns
from callsheet.tasks.ledger.costs import CostsOf, charged_in
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import approve
from callsheet.tasks.ledger.schema import campaigns
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.briefs import Brief
from tests.campaigns import NOW, Stage


def wanted_brief(row: str, **own: Any) -> Brief:
    brand = (("Brand", "Acme"),) if row == "a" else (("x_brand", "Bolt"),)
    # As a header that was mapped to the column, and as the column itself.
    brand += (("Client", " Tea Co "),) if row == "a" else (("X Client", ""),)
    request = {"topic": row, "language": "de" if row == "a" else "en", "tool": "explainer"}
    return Brief(row=row, request=request, cells=brand, **own)


async def two_campaigns(ledger: Ledger) -> None:
    """Two rows of spring that cost 12 and 20, one of autumn that cost 5, one set aside."""
    a = wanted_brief("a", tags=("tea", "new"), cost_center="north")
    spring = await Stage.set(ledger, a, wanted_brief("b"))
    await spring.ready("a", charged=12)
    await spring.ready("b", charged=20)
    autumn = await Stage.set(ledger, wanted_brief("c"), wanted_brief("d"), name="autumn")
    await autumn.delivered("c")
    await autumn.rendering("d")


async def told(ledger: Ledger, by: By, **wanted: Any) -> CostsOut:
    return await ledger.read(costs, wanted=CostsOf(**wanted), by=by)


@pytest.mark.parametrize(
    ("by", "charged"),
    [
        ("campaign", {"spring": 32, "autumn": 12}),
        ("x_client", {None: 32, "Tea Co": 12}),
        ("X_Client", {None: 32, "Tea Co": 12}),
        ("brand", {"Bolt": 32, "Acme": 12}),
        ("tag", {None: 32, "new": 12, "tea": 12}),
        ("cost_center", {None: 32, "north": 12}),
        ("tool", {"explainer": 44}),
        ("language", {"en": 32, "de": 12}),
        ("month", {"1970-01": 44}),
        ("person", {"Alice": 44}),
    ],
)
async def test_all_campaigns_are_added_up_by(ledger: Ledger, by, charged):
    await two_campaigns(ledger)

    found = await told(ledger, by)

    assert {line.name: line.charged for line in found.costs} == charged
    assert (found.total.charged, found.total.reserved, found.total.takes) == (44, 12, 4)
    assert found.total.videos == 1


async def test_costs_of_no_column_are_refused(ledger: Ledger) -> None:
    await two_campaigns(ledger)

    assert await ledger.read(own_columns, sandbox=False) == ["x_client"]
    with pytest.raises(BadInput, match=r'no column "x_clint".*; did you mean x_client'):
        await told(ledger, "x_clint")
    with pytest.raises(BadInput, match="title"):
        await told(ledger, "title")


async def test_only_takes_of_the_time_and_of_one_kind_of_money_count(ledger: Ledger) -> None:
    await two_campaigns(ledger)

    assert (await told(ledger, "month", since=NOW)).total.takes == 4
    assert (await told(ledger, "month", since=NOW + 1)).costs == []
    assert (await told(ledger, "month", until=NOW)).costs == []
    assert await ledger.read(charged_in, wanted=CostsOf()) == 44

    tried = update(campaigns).where(campaigns.c.name == "autumn").values(sandbox=True)
    await ledger.write(lambda connection: connection.execute(tried))
    assert (await told(ledger, "month")).total.charged == 32
    assert (await told(ledger, "month", sandbox=True)).total.charged == 12
    assert await ledger.read(charged_in, wanted=CostsOf()) == 32


APPROVALS = {
    "approved by Ann on the board": "Ann",
    "approved by Ann with --yes, and the first videos passed, plan 6f0c": "Ann",
    "approved by Ann with the plan a, plan b.json, plan 6f0c": "Ann",
    "approved by the flow's parameter, plan 6f0c": "approved by the flow's parameter",
}


async def test_a_person_is_one_line_however_many_plans_they_approve(ledger: Ledger):
    stage = await Stage.set(ledger, *map(wanted_brief, "abcd"))
    for row, by in zip("abcd", APPROVALS, strict=True):
        await stage.write(approve, [await stage.quote(row)], by=by, at=NOW)
        await stage.open(await stage.row(row))

    assert {line.name for line in (await told(ledger, "person")).costs} == {*APPROVALS.values()}
