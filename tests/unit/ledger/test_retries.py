"""New takes of rows whose renders fail: as many as were approved, and never past a limit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Executable, insert, update

from callsheet.tasks.engine.policy.decide import decide
from callsheet.tasks.engine.policy.decision import Memory, Polled, Rules
from callsheet.tasks.engine.progress import record
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import Quoted, approve, renew_quote
from callsheet.tasks.ledger.schema import campaigns, earlier_takes, takes
from callsheet.tasks.ledger.takes import accept
from callsheet.tasks.ledger.values import CampaignRow, State, takes_of
from tests.campaigns import NOW, Stage, brief, key_of, sums

FAILED = Polled("failed", downloadable=False)


async def rendering(stage: Stage, *, retries: int, price: int = 12) -> CampaignRow:
    quoted = await stage.quote(amount=price)
    await stage.write(approve, [quoted], by="Alice", at=NOW, retries=retries)
    await stage.open(await stage.row())
    return await accepted(stage)


async def accepted(stage: Stage) -> CampaignRow:
    sent = await stage.row()
    assert sent.take is not None
    await stage.write(accept, sent, sent.take, video_id=f"vid_{sent.nth}", at=NOW)
    return await stage.row()


async def polled(stage: Stage, row: CampaignRow, seen: Polled = FAILED, now: float = NOW + 60):
    """Observe a row twice: one word alone is not the end."""
    memory = decide(row, Memory(), seen, now, Rules()).memory
    decision = decide(row, memory, seen, now, Rules())
    assert await record(stage.ledger, row, seen, decision, now=now) is not None
    return await stage.row()


@pytest.mark.safeguard("tasks/ledger/retries.py", "left = row.retries - 1", "left = row.retries")
async def test_a_failed_row_gets_as_many_takes_as_were_approved(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief(), budget=100)
    row = await rendering(stage, retries=2)
    keys = [key_of(row)]
    for left in (1, 0):
        row = await polled(stage, row)
        assert (row.state, row.nth, row.retries, row.approved) == ("approved", 3 - left, left, 12)
        keys.append(key_of(row))
        await stage.open(row)
        row = await accepted(stage)
    row = await polled(stage, row)
    assert (row.state, row.retries) == ("failed", 0)
    assert len({*keys}) == 3
    found = await ledger.read(takes_of, campaign_id=stage.campaign.id)
    assert [take.key for _, take in found] == keys
    totals = await ledger.read(sums, campaign_id=stage.campaign.id)
    assert totals[:2] == totals[2:]
    words = [event.words or "" for event in await stage.events()]
    assert sum("another take, since the render failed" in one for one in words) == 2
    assert any("approved beforehand with the plan (--retry-failed), 1 more" in w for w in words)


@pytest.mark.safeguard(
    "tasks/ledger/decisions.py",
    "to_micro(row.quoted), to_micro(row.approved)",
    "to_micro(row.quoted), to_micro(row.quoted)",
)
async def test_a_price_cannot_creep_up_from_attempt_to_attempt(ledger: Ledger) -> None:
    """Each may cost a tenth more than was agreed to, and not than the attempt before it did."""
    stage = await Stage.set(ledger, brief(), budget=100)
    await stage.write(approve, [await stage.quote()], by="Alice", at=NOW, retries=2)
    tolerated = {"tolerance": Decimal("0.1"), "at": NOW}
    assert await stage.write(renew_quote, Quoted(await stage.row(), Decimal(13)), **tolerated)
    await stage.open(await stage.row())
    row = await polled(stage, await accepted(stage))
    assert (row.state, row.quoted, row.approved) == ("approved", 13, 12)
    assert not await stage.write(renew_quote, Quoted(row, Decimal(14)), **tolerated)
    assert (await stage.row()).state == "quoted"


PAID_ELSEWHERE = {"campaign_id": 1, "row": "a", "digest": "d", "nth": 2, "noted_at": NOW}
#: What happens while it renders, and what is said then.
FORBIDDEN: list[tuple[Executable | None, str]] = [
    (update(campaigns).values(budget=23_000_000), "the campaign's budget has no room"),
    (update(takes).values(cancel_requested_at=NOW), ""),
    (update(campaigns).values(cancel_requested_at=NOW), ""),
    (insert(earlier_takes).values(PAID_ELSEWHERE), ""),
    # Rows that are approved come before new takes of failed ones.
    (None, "the campaign's budget has no room"),
]


@pytest.mark.safeguard(
    "tasks/ledger/retries.py", "elif now.left is not None and price > now.left:", "elif False:"
)
@pytest.mark.safeguard(
    "tasks/ledger/retries.py",
    "if now.cancelled or now.known_elsewhere or not now.retries:",
    "if now.known_elsewhere or not now.retries:",
)
@pytest.mark.parametrize(("change", "why"), FORBIDDEN)
async def test_none_is_made_where_something_forbids_it(ledger: Ledger, change, why):
    stage = await Stage.set(
        ledger, brief(), brief("b", "Pot"), budget=100 if change is not None else 24
    )
    row = await rendering(stage, retries=1)
    if change is None:
        await stage.approve("b")
    else:
        await ledger.write(lambda connection: connection.execute(change))
    row = await polled(stage, row)
    assert row.state == "failed"
    assert why in (row.reason or "")


@pytest.mark.safeguard(
    "tasks/ledger/sync.py", '"retries": row.retries if same else None,', '"retries": row.retries,'
)
@pytest.mark.safeguard(
    "tasks/ledger/quotes.py",
    "case((FAILED_BEFORE < _RETRIES, _RETRIES - FAILED_BEFORE), else_=0),",
    "case((FAILED_BEFORE < _RETRIES, _RETRIES), else_=_RETRIES),",
)
@pytest.mark.parametrize(("again", "left"), [(0, 0), (1, 0), (3, 2)])
async def test_an_attempt_that_had_to_wait_is_none_of_those_that_are_approved_next(
    ledger: Ledger, again: int, left: int
) -> None:
    stage = await Stage.set(ledger, brief(), budget=100)
    row = await polled(stage, await rendering(stage, retries=1))
    await stage.moved(row, "held", "a budget has no room")
    await stage.sync(brief())
    quoted = await stage.quote()
    await stage.write(approve, [quoted], by="Alice", at=NOW, retries=again)
    assert (await stage.row()).retries == left
    await stage.moved(await stage.row(), "planned")
    # Another brief is begun afresh, and is not made again on an approval of this one.
    await stage.sync(brief("a", "Pot"))
    assert (await stage.row()).retries is None
    quoted = await stage.quote()
    await stage.write(approve, [quoted], by="Alice", at=NOW, retries=again)
    assert (await stage.row()).retries == again


@pytest.mark.safeguard(
    "tasks/ledger/retries.py",
    "if limit is not None and now.spent + price > limit:",
    "if limit is not None and price > limit:",
)
@pytest.mark.parametrize(("limit", "state"), [(23, "failed"), (24, "approved")])
async def test_all_takes_of_a_row_stay_within_its_max_credits(ledger: Ledger, limit, state):
    stage = await Stage.set(ledger, brief(max_credits=Decimal(limit)), budget=100)
    row = await polled(stage, await rendering(stage, retries=1))
    assert row.state == state
    if state == "failed":
        assert "24 credits together, and max_credits is 23" in (row.reason or "")


NOT_FAILED: dict[str, tuple[State, dict[str, Any]]] = {
    "at the service": ("cancelled", {"seen": Polled("cancelled", downloadable=False)}),
    "too long": ("stalled", {"seen": Polled("odd", downloadable=False), "now": NOW + 99_999}),
    "past the horizon": ("failed", {"now": NOW + 86_400}),
}


@pytest.mark.safeguard(
    "tasks/engine/policy/renders.py", "return is_young(take, now, rules)", "return True"
)
@pytest.mark.parametrize(("state", "seen"), NOT_FAILED.values(), ids=NOT_FAILED)
async def test_only_a_render_that_is_known_to_have_failed_is_made_again(ledger, state, seen):
    stage = await Stage.set(ledger, brief(), budget=100)
    row = await polled(stage, await rendering(stage, retries=1), **seen)
    assert (row.state, row.nth, row.retries) == (state, 1, 1)
