"""Takes and their money: reserved before anything is sent, charged or released once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest

from callsheet.tasks.ledger.campaigns import set_budget
from callsheet.tasks.ledger.deliveries import deliver, videos_of
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.service_state import join_call, open_call
from callsheet.tasks.ledger.takes import accept, open_take, refuse, settle
from callsheet.tasks.ledger.values import takes_of
from tests.campaigns import NOW, VIDEO, Stage, brief, key_of, sums


async def test_opening_a_take_reserves_its_price_and_freezes_the_body(stage: Stage):
    row = await stage.submitting()
    assert row.state == "submitting"
    assert (row.take.number, row.take.nth, row.take.key) == (1, 1, key_of(row))
    assert row.take.body == (
        b'{"aspect_ratio":"9:16","idempotency_key":"' + row.take.key.encode() + b'",'
        b'"start_generation":true,"topic":"Tea"}'
    )
    assert (row.take.reserved, row.take.charged, row.take.stands) == (12, None, True)
    account = await stage.account()
    assert (account.reserved, account.charged) == (12, 0)


@pytest.mark.parametrize(
    ("own", "price"),
    [
        ({"topic": "Coffee"}, 12),
        ({"cost_center": "marketing"}, 12),
        ({"operation": "image-to-video"}, 12),
        ({}, 20),
    ],
)
async def test_what_was_approved_anew_is_not_sent_as_it_was_before(
    ledger: Ledger, own: dict[str, str], price: int
):
    """A run has rows in memory, and somebody approves their plan on the board meanwhile."""
    stage = await Stage.set(ledger, brief(cost_center="sales"))
    in_memory = await stage.approve()
    await stage.moved(in_memory, "planned")
    await stage.sync(brief(**{"cost_center": "sales", **own}))
    anew = await stage.approve(amount=price)
    assert await stage.open(in_memory) is None
    assert (await stage.row()).state == "approved"
    assert (await stage.account()).reserved == 0
    assert await stage.open(anew)


async def test_opening_a_take_twice_is_a_no_op(stage: Stage):
    approved = await stage.approve()
    assert await stage.open(approved)
    assert await stage.open(approved) is None
    assert (await stage.account()).reserved == 12
    assert [event.new for event in await stage.events()] == ["quoted", "approved", "submitting"]


@pytest.mark.parametrize("state", ["planned", "quoted", "held", "retired"])
async def test_a_row_that_nobody_approved_is_not_paid_for(stage: Stage, state):
    await stage.in_state(state)
    assert await stage.open(await stage.row()) is None
    assert (await stage.row()).state == state
    assert (await stage.account()).reserved == 0


async def test_a_row_that_was_changed_since_it_was_read_is_not_paid_for(stage: Stage):
    stale = await stage.approve()
    await stage.sync(brief(topic="Coffee"))
    await stage.approve()
    assert await stage.open(stale) is None
    assert await stage.ledger.read(lambda c: takes_of(c, stage.campaign.id)) == []


async def test_a_row_beyond_the_budget_is_held(ledger: Ledger):
    stage = await Stage.set(ledger, brief(), brief("b"), budget=20)
    await stage.submitting()
    assert await stage.open(await stage.approve("b")) is None
    row = await stage.row("b")
    assert (row.state, row.take) == ("held", None)
    assert "budget" in (row.reason or "")
    assert (await stage.account()).reserved == 12


async def test_a_price_that_nobody_could_read_fits_no_budget(stage: Stage):
    row = await stage.approve(amount=None)
    await stage.write(set_budget, campaign=stage.campaign, budget=Decimal(1000), at=NOW)
    assert await stage.open(row) is None
    assert "price could not be read" in ((await stage.row()).reason or "")


async def test_without_a_budget_an_unread_price_is_paid(stage: Stage):
    row = await stage.rendering(amount=None)
    await stage.write(settle, row, row.take, new="ready", charged=None, at=NOW)
    assert (await stage.row()).take.charged is None  # type: ignore[union-attr]
    assert (await stage.account()).charged == 0


async def test_an_exact_budget_is_enough(ledger: Ledger):
    stage = await Stage.set(ledger, brief(), brief("b"), budget=24)
    await stage.submitting("a")
    await stage.submitting("b")
    assert (await stage.account()).reserved == 24


async def test_a_refusal_releases_what_was_reserved(stage: Stage):
    row = await stage.refused()
    assert (row.state, row.reason) == ("rejected", "no")
    assert (row.take.stands, row.take.reserved) == (False, 0)
    assert (await stage.account()).reserved == 0


async def test_refusing_twice_is_a_no_op(stage: Stage):
    sent = await stage.submitting()
    named = {"new": "held", "reason": "402", "at": NOW}
    assert await stage.write(refuse, sent, sent.take, **named)
    assert not await stage.write(refuse, sent, sent.take, **named)
    assert (await stage.account()).reserved == 0


async def test_a_refused_take_is_taken_up_again_with_its_key_and_number(stage: Stage):
    first = (await stage.refused(new="held")).take
    await stage.sync(brief())
    second = (await stage.submitting(amount=15)).take
    assert first is not None
    assert second == replace(
        first, quoted=Decimal(15), reserved=Decimal(15), refused_at=None, intended_at=NOW
    )
    assert (await stage.account()).reserved == 15


async def test_a_refused_take_goes_to_the_service_that_it_is_sent_to_now(stage: Stage):
    await stage.refused(new="held")
    await stage.sync(brief())
    row = await stage.approve("a", 12)
    asked = {"key": row.key(), "body": row.body(row.key()), "at": NOW}
    await stage.write(open_take, row, **asked, service="b.example/api/v1")
    assert (await stage.row()).take.service == "b.example/api/v1"


async def test_a_refused_take_is_found_again_after_another_brief_was_tried(stage: Stage):
    """The sheet goes from Tea to Coffee and back: Tea's key is in the ledger already."""
    first = (await stage.refused()).take
    await stage.sync(brief(topic="Coffee"))
    await stage.delivered()
    await stage.sync(brief())
    again = (await stage.submitting()).take
    assert (again.id, again.key, again.number) == (first.id, first.key, 1)
    assert again.stands


async def test_accepting_twice_is_a_no_op(stage: Stage):
    sent = await stage.submitting()
    assert await stage.write(accept, sent, sent.take, video_id="vid_1", at=NOW)
    assert not await stage.write(accept, sent, sent.take, video_id="vid_2", at=NOW)
    assert (await stage.row()).take.video_id == "vid_1"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("reported", "charged"), [(None, 12), (Decimal("9.5"), Decimal("9.5")), (Decimal(0), 0)]
)
async def test_settling_turns_the_reservation_into_a_charge(stage: Stage, reported, charged):
    row = await stage.rendering()
    assert await stage.write(settle, row, row.take, new="ready", charged=reported, at=NOW)
    account = await stage.account()
    assert (account.reserved, account.charged) == (0, charged)
    settled = (await stage.row()).take
    assert (settled.reserved, settled.charged) == (0, charged)


async def test_settling_twice_is_a_no_op(stage: Stage):
    row = await stage.rendering()
    assert await stage.write(settle, row, row.take, new="ready", charged=None, at=NOW)
    assert not await stage.write(settle, row, row.take, new="ready", charged=None, at=NOW)
    assert (await stage.account()).charged == 12


async def test_a_video_that_is_looked_at_again_is_not_charged_again(stage: Stage):
    """Held after the download failed, rendering again, ready again: with values of before."""
    stale = await stage.rendering()
    await stage.write(settle, stale, stale.take, new="ready", charged=None, at=NOW)
    await stage.moved(await stage.row(), "held", "disk full")
    await stage.sync(brief())
    assert (await stage.row()).state == "rendering"
    assert await stage.write(settle, stale, stale.take, new="ready", charged=Decimal(5), at=NOW)
    account = await stage.account()
    assert (account.reserved, account.charged) == (0, 12)


async def test_a_delivery_is_recorded_once(ledger: Ledger, stage: Stage):
    ready = await stage.ready()
    assert await stage.write(deliver, ready, ready.take, files=[VIDEO], at=NOW)
    assert not await stage.write(deliver, ready, ready.take, files=[VIDEO], at=NOW)
    row = await stage.row()
    assert (row.state, row.take.delivered_at) == ("delivered", NOW)
    (video,) = (await ledger.read(videos_of)).values()
    assert (video.id, [*video.files.values()]) == (row.take.id, [VIDEO])


async def test_what_came_before_the_captions_is_kept(ledger: Ledger, stage: Stage):
    ready = await stage.ready()
    words = replace(VIDEO, kind="srt", seconds=None)
    held = {"new": "held", "reason": "no captions yet"}
    assert await stage.write(deliver, ready, ready.take, files=[VIDEO], at=NOW, **held)
    await stage.sync(brief())
    again = await stage.row()
    await stage.write(settle, again, again.take, new="ready", charged=None, at=NOW)
    again = await stage.row()
    assert await stage.write(deliver, again, again.take, files=[VIDEO, words], at=NOW)
    (video,) = (await ledger.read(videos_of)).values()
    assert [*video.files.values()] == [VIDEO, words]


@pytest.mark.parametrize("budget", [50, 100])
async def test_opens_of_two_programs_at_once_never_pass_the_budget(
    ledger: Ledger, made_address: str, budget: int
):
    names = [f"r{n}" for n in range(24)]
    stage = await Stage.set(ledger, *map(brief, names), budget=budget)
    for name in names:
        await stage.quote(name, 7)
    from callsheet.tasks.ledger.quotes import approve

    await stage.write(approve, await stage.rows(), by="Alice", at=NOW)
    async with await open_ledger(made_address) as other:
        two = [stage, Stage(other, stage.campaign)]
        rows = await stage.rows()
        opened = await asyncio.gather(*(which.open(row) for row in rows for which in two))
    took = [take for take in opened if take]
    assert len(took) == budget // 7
    assert len({take.key for take in took}) == len(took)
    assert (await stage.account()).reserved == 7 * len(took) <= budget
    states = [row.state for row in await stage.rows()]
    assert states.count("submitting") == len(took)
    assert states.count("held") == len(names) - len(took)
    account = await ledger.read(lambda c: sums(c, stage.campaign.id))
    assert account[:2] == account[2:]


@pytest.mark.parametrize(
    ("cost", "first", "operation", "sent"),
    [
        (30, "edit-scene", "edit-scene", False),
        (30, "image-to-video", "image-to-video", False),
        (12, "edit-scene", "edit-scene", True),
        (30, "edit-scene", "edit-voice", True),
    ],
    ids=["dearer", "a dearer clip", "as dear as approved", "of another kind"],
)
async def test_what_has_no_quote_waits_once_one_of_its_kind_has_cost_more_than_was_approved(
    ledger: Ledger, cost: int, first: str, operation: str, sent: bool
):
    kinds = {"a": first, "b": operation}
    stage = await Stage.set(ledger, *(brief(row, operation=kind) for row, kind in kinds.items()))
    waiting = await stage.approve("b")
    edited = await stage.submitting()
    assert edited.take is not None
    call = await stage.write(open_call, organisation="", operation=first, body=b"", at=NOW)
    await stage.write(join_call, call, take_id=edited.take.id)
    await stage.write(accept, edited, edited.take, video_id="vid_a", at=NOW)
    edited = await stage.row()
    await stage.write(settle, edited, edited.take, new="ready", charged=Decimal(cost), at=NOW)
    assert (await stage.open(waiting) is not None) == sent
    row = await stage.row("b")
    assert ("has cost 30 credits instead of at most 12" in (row.reason or "")) == (not sent)
    # Who approves it after that knows.
    if not sent:
        assert await stage.open(await stage.approve("b", at=NOW + 1))


async def test_to_be_sent_again_after_a_refusal_is_no_approval_of_what_has_no_quote(
    ledger: Ledger,
):
    """The service asked to come back later, and meanwhile another edit cost more than its limit."""
    stage = await Stage.set(ledger, *(brief(row, operation="edit-scene") for row in "ab"))
    waiting = await stage.submitting("b")
    edited = await stage.submitting("a")
    assert edited.take is not None
    call = await stage.write(open_call, organisation="", operation="edit-scene", body=b"", at=NOW)
    await stage.write(join_call, call, take_id=edited.take.id)
    await stage.write(accept, edited, edited.take, video_id="vid_a", at=NOW)
    edited, later = await stage.row("a"), {"new": "approved", "reason": "429", "at": NOW + 2}
    cost = Decimal(30)
    await stage.write(settle, edited, edited.take, new="ready", charged=cost, at=NOW + 1)
    await stage.write(refuse, waiting, waiting.take, **later)
    assert await stage.open(await stage.row("b"), at=NOW + 3) is None
    assert (await stage.row("b")).state == "held"
    anew = await stage.approve("b", 30, at=NOW + 4)
    assert await stage.open(anew, at=NOW + 5)
