"""Takes that another ledger may have paid for: known, refused, and allowed by a person."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from callsheet.tasks.ledger import earlier_takes
from callsheet.tasks.ledger.decisions import approve_retakes
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import Quoted
from tests.campaigns import NOW, Stage, brief


@pytest.fixture
async def stage(ledger: Ledger) -> Stage:
    return await Stage.set(ledger, *(brief(row, topic=row) for row in "abc"))


async def earlier(stage: Stage, row: str = "a", **own: Any) -> earlier_takes.EarlierTake:
    digest = (await stage.row(row)).digest
    found = earlier_takes.EarlierTake(row=row, digest=digest, nth=1, sent_at=1.0, why="it was sent")
    return replace(found, **own)


async def refuse(stage: Stage, *found: earlier_takes.EarlierTake) -> None:
    await stage.write(earlier_takes.refuse_to_pay, stage.campaign.id, found, at=NOW)


async def refused(stage: Stage) -> set[str]:
    return set(await stage.ledger.read(earlier_takes.refused_rows, campaign_id=stage.campaign.id))


@pytest.mark.safeguard("tasks/ledger/takes.py", "if maybe_paid:", "if maybe_paid is Ellipsis:")
async def test_a_refused_row_is_on_hold_and_no_intent_is_written_for_it(stage: Stage) -> None:
    row = await stage.approve("a")
    await refuse(stage, await earlier(stage))

    held = await stage.row("a")
    assert held.state == "held"
    assert "--pay-again" in str(held.reason)
    # As an older plan would have it: the ledger itself refuses.
    await stage.moved(held, "planned")
    again = await stage.approve("a")
    assert await stage.open(again) is None
    assert (await stage.row("a")).state == "held"
    assert row.digest == held.digest


@pytest.mark.safeguard(
    "tasks/ledger/decisions.py", "return max(row.nth, nth + (0 if", "return max(0, nth + (0 if"
)
async def test_a_retake_uses_no_key_that_another_ledger_has_used_up(stage: Stage) -> None:
    """Nor is it a way around a refusal."""
    await stage.write(earlier_takes.restore_count, await stage.row("a"), nth=3)
    await refuse(stage, await earlier(stage, nth=3))
    wanted = [Quoted(await stage.row("a"), Decimal(12))]
    await stage.write(approve_retakes, wanted, by="Ann", because=None, at=NOW)

    again = await stage.row("a")
    assert (again.state, again.nth) == ("approved", 3)
    assert await stage.open(again) is None
    assert (await stage.row("a")).state == "held"


async def test_a_person_lets_it_be_paid_for_and_is_not_asked_again(stage: Stage) -> None:
    one = await earlier(stage)
    await refuse(stage, one)
    await stage.write(earlier_takes.allow_to_pay, stage.campaign.id, ["a", "b"], by="Ann", at=NOW)
    await refuse(stage, one)
    await stage.write(earlier_takes.keep_earlier, stage.campaign.id, [one], at=NOW)

    await refuse(stage, replace(one, nth=2), replace(one, digest="of another"))
    assert await refused(stage) == set(), "a refusal is about one attempt at one brief"
    said = [event.words for event in await stage.events("a") if event.kind == "pay-again"]
    assert said == ["may be paid for a second time: Ann"]


async def test_only_takes_that_this_ledger_does_not_have_are_remembered(stage: Stage) -> None:
    await stage.delivered("a")
    known = [await earlier(stage, row) for row in "ab"]
    known.append(await earlier(stage, "a", nth=2))
    known.append(earlier_takes.EarlierTake(row="gone", digest="d", sent_at=1.0))
    await stage.write(earlier_takes.keep_earlier, stage.campaign.id, known, at=NOW)

    found = await stage.ledger.read(earlier_takes.earlier_of, campaign_id=stage.campaign.id)
    assert {(one.row, one.nth) for one in found} == {("b", 1), ("a", 2), ("gone", 0)}
