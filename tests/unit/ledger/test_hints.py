"""The inbox of hints: each delivery once, and heard of in every process."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.webhook_events import (
    KEPT,
    Hint,
    count_hints,
    drop_old_hints,
    hints_heard,
    keep_hint,
    last_heard,
    latest_hint,
)

T0 = 1_800_000_000.0
HINT = Hint(digest="a" * 64, nonce="n1", videos=frozenset({"vid_1", "vid_2"}), event_id="evt_1")


async def _keep(ledger: Ledger, hint: Hint, at: float = T0) -> bool:
    return await ledger.write(keep_hint, hint=hint, at=at)


async def test_a_delivery_is_kept_once_whatever_id_it_comes_under(ledger: Ledger) -> None:
    assert await _keep(ledger, HINT)
    assert not await _keep(ledger, HINT)
    assert not await _keep(ledger, replace(HINT, event_id="evt_forged"))
    # The id is not signed: a delivery that was given the id of another one is not lost by it.
    assert await _keep(ledger, replace(HINT, digest="b" * 64))
    assert not await _keep(ledger, replace(HINT, digest="b" * 64))
    assert await _keep(ledger, replace(HINT, digest="c" * 64, event_id=None))
    assert await _keep(ledger, replace(HINT, digest="d" * 64, event_id=None))
    assert await ledger.read(latest_hint) >= 3


async def test_two_that_arrive_in_one_commit_are_both_answered(ledger: Ledger) -> None:
    same = [_keep(ledger, replace(HINT, event_id=f"evt_{n}")) for n in range(20)]
    assert sorted(await asyncio.gather(*same)) == [False] * 19 + [True]


async def test_hints_are_read_from_an_id_on_and_again_for_a_while(ledger: Ledger) -> None:
    await _keep(ledger, HINT, at=T0)
    await _keep(ledger, replace(HINT, digest="b" * 64, event_id="evt_2", ping=True), at=T0 + 60)
    first, second = await ledger.read(hints_heard, after=0, since=T0 + 1000)
    assert (first.videos, first.ping, first.heard_at) == (HINT.videos, False, T0)
    assert (second.videos, second.ping) == (HINT.videos, True)

    assert await ledger.read(hints_heard, after=second.id, since=T0 + 1000) == []
    assert await ledger.read(hints_heard, after=second.id, since=T0 + 60) == [second]


async def test_a_subscription_knows_when_it_was_heard_until_the_service_cannot_repeat_it(ledger):
    await _keep(ledger, HINT, at=T0)
    await _keep(ledger, replace(HINT, digest="b" * 64, event_id="evt_2", ping=True), at=T0 + KEPT)
    assert await ledger.read(last_heard, nonce="n1") == T0 + KEPT
    assert await ledger.read(last_heard, nonce="n2") is None
    assert await ledger.read(count_hints, nonce="n1", since=T0) == 1

    assert await ledger.write(drop_old_hints, at=T0 + KEPT + 1) == 1
    (left,) = await ledger.read(hints_heard, after=0, since=0.0)
    assert (left.videos, left.ping) == (HINT.videos, True)
    assert await _keep(ledger, HINT, at=T0 + KEPT + 2)
