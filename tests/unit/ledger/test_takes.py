"""Takes, paid calls and their money: reserved before anything is sent, charged or released once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest

from callsheet.tasks.ledger import service_state
from callsheet.tasks.ledger.deliveries import deliver, videos_of
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.service_state import join_call, open_call
from callsheet.tasks.ledger.takes import accept, open_take, refuse, settle
from callsheet.tasks.ledger.values import CampaignRow
from tests.campaigns import NOW, VIDEO, Stage, brief, key_of


async def test_opening_a_take_reserves_its_price_and_freezes_the_body(stage: Stage):
    approved = await stage.approve()
    assert await stage.open(approved)
    assert await stage.open(approved) is None, "twice is a no-op"
    row = await stage.row()
    assert row.state == "submitting"
    assert (row.take.number, row.take.nth, row.take.key) == (1, 1, key_of(row))
    assert row.take.body == (
        b'{"aspect_ratio":"9:16","idempotency_key":"' + row.take.key.encode() + b'",'
        b'"start_generation":true,"topic":"Tea"}'
    )
    assert (row.take.reserved, row.take.charged, row.take.stands) == (12, None, True)
    account = await stage.account()
    assert (account.reserved, account.charged) == (12, 0)


@pytest.mark.safeguard(
    "tasks/ledger/takes.py",
    'if tuple(found) != ("approved", *asked):',
    'if found[0] != "approved":',
)
@pytest.mark.parametrize(
    ("own", "price"),
    [
        ({"topic": "Coffee"}, 12),
        ({"cost_center": "marketing"}, 12),
        ({"operation": "image-to-video"}, 12),
        ({}, 20),
    ],
)
async def test_what_was_approved_anew_is_not_sent_as_it_was_before(ledger: Ledger, own, price):
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


@pytest.mark.safeguard(
    "tasks/ledger/account_updates.py",
    "campaigns.c.reserved + campaigns.c.charged + _MORE <= campaigns.c.budget,",
    "campaigns.c.reserved + campaigns.c.charged + _MORE >= 0,",
)
async def test_a_row_beyond_the_budget_is_held(ledger: Ledger):
    stage = await Stage.set(ledger, *map(brief, "abc"), budget=24)
    await stage.submitting("a", 16)
    await stage.submitting("c", 0)
    for amount, words in (
        (12, "8 of the 24 credits of the campaign's budget are left: raise it with --budget"),
        (None, "price could not be read"),
    ):
        await stage.sync(*map(brief, "abc"))
        assert await stage.open(await stage.approve("b", amount)) is None
        row = await stage.row("b")
        assert (row.state, row.take) == ("held", None)
        assert words in (row.reason or "")
    assert (await stage.account()).reserved == 16
    await stage.sync(*map(brief, "abc"))
    assert await stage.open(await stage.approve("b", 8)), "an exact budget is enough"


async def test_a_refused_take_is_taken_up_again_with_its_key_and_number(stage: Stage):
    """Whatever service it is sent to now."""
    sent = await stage.submitting()
    assert await stage.write(refuse, sent, sent.take, new="held", reason="402", at=NOW)
    assert not await stage.write(refuse, sent, sent.take, new="held", reason="402", at=NOW)
    first = (await stage.row()).take
    assert (first.stands, first.reserved, (await stage.account()).reserved) == (False, 0, 0)
    await stage.sync(brief())
    row = await stage.approve(amount=15)
    asked = {"key": row.key(), "body": row.body(row.key()), "at": NOW}
    await stage.write(open_take, row, **asked, service="b.example/api/v1")
    again = {"quoted": Decimal(15), "reserved": Decimal(15), "refused_at": None}
    again |= {"intended_at": NOW, "service": "b.example/api/v1"}
    assert (await stage.row()).take == replace(first, **again)
    assert (await stage.account()).reserved == 15


@pytest.mark.parametrize(
    ("reported", "charged"), [(None, 12), (Decimal("9.5"), Decimal("9.5")), (Decimal(0), 0)]
)
async def test_settling_turns_the_reservation_into_a_charge(stage: Stage, reported, charged):
    sent = await stage.submitting()
    assert await stage.write(accept, sent, sent.take, video_id="vid_1", at=NOW)
    assert not await stage.write(accept, sent, sent.take, video_id="vid_2", at=NOW)
    row = await stage.row()
    assert row.take.video_id == "vid_1"
    assert await stage.write(settle, row, row.take, new="ready", charged=reported, at=NOW)
    assert not await stage.write(settle, row, row.take, new="ready", charged=reported, at=NOW)
    account = await stage.account()
    assert (account.reserved, account.charged) == (0, charged)
    settled = (await stage.row()).take
    assert (settled.reserved, settled.charged) == (0, charged)


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


async def called(stage: Stage, row: CampaignRow, operation: str) -> CampaignRow:
    """Have the paid call of a row answered with its video."""
    call = await stage.write(open_call, organisation="", operation=operation, body=b"", at=NOW)
    await stage.write(join_call, call, take_id=row.take.id)
    await stage.write(accept, row, row.take, video_id="vid_a", at=NOW)
    return await stage.row(row.row)


@pytest.mark.safeguard(
    "tasks/ledger/takes.py",
    "if dearer := _dearer(connection, row):",
    "if False and (dearer := _dearer(connection, row)):",
)
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
    edited = await called(stage, edited, first)
    await stage.write(settle, edited, edited.take, new="ready", charged=Decimal(cost), at=NOW)
    assert (await stage.open(waiting) is not None) == sent
    row = await stage.row("b")
    assert ("has cost 30 credits instead of at most 12" in (row.reason or "")) == (not sent)
    # Who approves it after that knows.
    if not sent:
        assert await stage.open(await stage.approve("b", at=NOW + 1))


@pytest.mark.safeguard(
    "tasks/ledger/takes.py",
    "takes.c.ready_at >= _APPROVED_AT,",
    'takes.c.ready_at >= bindparam("since"),',
)
async def test_to_be_sent_again_after_a_refusal_is_no_approval_of_what_has_no_quote(ledger: Ledger):
    """The service asked to come back later, and meanwhile another edit cost more than its limit."""
    stage = await Stage.set(ledger, *(brief(row, operation="edit-scene") for row in "ab"))
    waiting = await stage.submitting("b")
    edited = await stage.submitting("a")
    edited = await called(stage, edited, "edit-scene")
    later = {"new": "approved", "reason": "429", "at": NOW + 2}
    cost = Decimal(30)
    await stage.write(settle, edited, edited.take, new="ready", charged=cost, at=NOW + 1)
    await stage.write(refuse, waiting, waiting.take, **later)
    assert await stage.open(await stage.row("b"), at=NOW + 3) is None
    assert (await stage.row("b")).state == "held"
    anew = await stage.approve("b", 30, at=NOW + 4)
    assert await stage.open(anew, at=NOW + 5)


ORG = "org"
OPEN = {"organisation": ORG, "operation": "image-to-video", "body": b"{}", "at": NOW}


async def open_one(ledger: Ledger, **more) -> int | None:
    return await ledger.write(service_state.open_call, **(OPEN | more))


@pytest.mark.safeguard(
    "tasks/ledger/schema.py", "unique=True,\n    sqlite_where=calls", "sqlite_where=calls"
)
async def test_one_call_is_open_for_a_target_at_a_time(ledger: Ledger, made_address: str):
    await ledger.write(lambda c: service_state.drop_call(c, service_state.open_call(c, **OPEN)))
    async with await open_ledger(made_address) as other:
        opened = await asyncio.gather(*(open_one(door) for door in (ledger, other) * 5))
    (first,) = [number for number in opened if number is not None]
    assert await open_one(ledger, target="vid_1") is not None
    assert await open_one(ledger, organisation="another") is not None
    assert await ledger.write(service_state.close_call, call_id=first, outcome="refused", at=NOW)
    assert not await ledger.write(service_state.close_call, call_id=first, outcome="made", at=NOW)
    assert await open_one(ledger) not in (None, first)


async def taken(stage: Stage, approved: CampaignRow):
    """Send a row's call as the engine does: intent and take in one transaction."""

    def change(connection):
        number = service_state.open_call(connection, **OPEN)
        take = open_take(connection, approved, key=key_of(approved), body=b"{}", at=NOW)
        service_state.join_call(connection, number, take_id=take.id)

    await stage.ledger.write(change)
    return await stage.row(approved.row)


async def test_a_call_that_never_left_lets_the_row_be_sent_again(ledger: Ledger):
    stage = await Stage.set(ledger, brief(operation="image-to-video"))
    row = await taken(stage, await stage.approve("a"))
    await stage.write(refuse, row, row.take, new="approved", reason="not sent", at=NOW)
    again = await stage.row()
    assert (again.state, again.take.refused_at, again.take.reserved) == ("approved", NOW, 0)
    assert (await stage.account()).reserved == 0

    assert (await taken(stage, again)).take.number == 1
    assert (await stage.row()).take.id == row.take.id
    assert (await stage.account()).reserved == 12


@pytest.mark.safeguard(
    "tasks/ledger/service_state.py",
    "return set(connection.scalars(seen)) | videos_ours(connection)",
    "return set(connection.scalars(seen))",
)
async def test_a_video_of_ours_is_never_what_another_call_made(ledger: Ledger):
    stage = await Stage.set(ledger, brief(operation="image-to-video"), brief("b", "Coffee"))
    row = await taken(stage, await stage.approve("a"))
    await stage.write(accept, row, row.take, video_id="vid_ours", at=NOW)
    assert "vid_ours" in await ledger.read(service_state.videos_known, organisation=ORG, before=0)
