"""What is cancelled: planned without a change, written as rows are by then, told line by line."""

from __future__ import annotations

from decimal import Decimal

import pytest

from callsheet.tasks.aftercare.cancel import cancel, endings, exit_status, plan_cancel, released
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.runtime.errors import NotHere
from tests.campaigns import NOW, Stage, brief

WHOLE = RunOptions(campaign="spring")


async def test_a_plan_changes_nothing_and_says_what_would_be_released(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, *(brief(row, topic=row) for row in "abc"))
    await stage.rendering("a")
    await stage.delivered("b")

    plan = await ledger.read(plan_cancel, ask=WHOLE)

    assert [(line.row, line.action, line.state, line.priced) for line in plan.lines] == [
        ("a", "cancel", "rendering", 12),
        ("b", "none", "delivered", 0),
        ("c", "cancel", "planned", 0),
    ]
    assert [row.state for row in await stage.rows()] == ["rendering", "delivered", "planned"]
    assert (await stage.account()).cancel_requested_at is None


async def test_what_is_cancelled_is_as_rows_are_by_then(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, *(brief(row, topic=row) for row in "ab"))
    await ledger.read(plan_cancel, ask=WHOLE)
    await stage.approve("a")
    await stage.sync(*(brief(row, topic=row) for row in "abc"))

    plan = await ledger.write(cancel, ask=WHOLE, by="Ann", at=NOW)
    found = await ledger.read(endings, plan=plan)

    assert [(one.row, one.was, one.now) for one in found] == [
        ("a", "approved", "cancelled"),
        ("b", "planned", "cancelled"),
        ("c", "planned", "cancelled"),
    ]
    assert (exit_status(found), released(found)) == (0, Decimal(0))
    assert (await stage.account()).cancel_requested_at == NOW


async def test_rows_that_are_named_leave_the_others_and_the_campaign(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, *(brief(row, topic=row) for row in "ab"))
    await stage.rendering("a")

    plan = await ledger.write(cancel, ask=WHOLE.but(rows=("a",)), by="Ann", at=NOW)
    found = await ledger.read(endings, plan=plan)

    assert [(one.row, one.now) for one in found] == [("a", "rendering")]
    assert "not cancelled yet" in found[0].why
    # It is marked, and settled by the run that is at work or a later one.
    assert (exit_status(found), released(found)) == (5, Decimal(0))
    assert (await stage.row("b")).state == "planned"
    assert (await stage.account()).cancel_requested_at is None


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (WHOLE.but(campaign="autumn"), 'there is no campaign "autumn" in the ledger'),
        (WHOLE.but(rows=("a", "x", "y")), 'campaign spring has no row "x", "y"'),
    ],
)
async def test_what_is_not_there_cancels_nothing(
    ledger: Ledger, ask: RunOptions, words: str
) -> None:
    stage = await Stage.set(ledger, brief("a"))
    with pytest.raises(NotHere, match=words):
        await ledger.write(cancel, ask=ask, by="Ann", at=NOW)
    assert (await stage.row()).state == "planned"
