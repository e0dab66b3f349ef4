"""What may be spent on a word that names an amount."""

from __future__ import annotations

from decimal import Decimal

import pytest

from callsheet.tasks.campaign.quotes import is_within
from callsheet.tasks.campaign.values import Plan, PlanLine


@pytest.mark.parametrize(
    ("prices", "at_most", "within"),
    [
        ([15, 15], 30, True),
        ([15, 15], 29, False),
        ([15, 15], None, False),
        # What it would cost, nobody knows.
        ([15, None], 1000, False),
        ([None], 0, False),
        ([], 0, True),
        ([], None, False),
    ],
)
def test_an_amount_covers_what_it_is_the_price_of(
    prices: list[int | None], at_most: int | None, within: bool
) -> None:
    lines = tuple(
        PlanLine(
            row=str(n),
            title="Video",
            action="retake",
            digest="d",
            priced=None if price is None else Decimal(price),
        )
        for n, price in enumerate(prices)
    )
    plan = Plan(campaign="spring", sheet="spring.csv", sheet_digest="d", lines=lines)

    assert is_within(plan, None if at_most is None else Decimal(at_most)) is within
