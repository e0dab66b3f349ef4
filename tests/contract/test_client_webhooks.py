"""Subscriptions made by the client, delivered by the sandbox, checked with what the client kept."""

from __future__ import annotations

import asyncio
import time

from callsheet.tasks.service import operations as ops
from tests.contract.sandbox.receiver import receiving, status
from tests.contract.sandboxes import finished, made, new_key
from tests.unit.service.asked import subscribe

WITHIN = 30.0


async def test_a_finished_video_is_told_under_the_secret_of_the_subscription(service):
    with receiving() as receiver:
        hook = await subscribe(service, receiver.url)
        video_id = (await made(service, new_key())).video_id
        (got,) = await asyncio.to_thread(receiver.wait, 1)
        await service.ask(ops.DELETE_WEBHOOK, hook.id)
    assert got.is_signed_with(hook.secret)
    assert not got.is_signed_with("whsec_another")
    assert got.header("Event") == "video.ready"
    assert got.header("Attempt") == "1"
    assert got.header("Event-Id")
    assert abs(int(got.header("Timestamp")) - time.time()) < 600
    assert video_id in got.body.decode()
    assert await finished(service, video_id)


async def test_a_ping_can_be_told_from_a_real_event(service):
    with receiving() as receiver:
        hook = await subscribe(service, receiver.url)
        assert await service.ask(ops.TEST_WEBHOOK, hook.id)
        (got,) = await asyncio.to_thread(receiver.wait, 1)
        await service.ask(ops.DELETE_WEBHOOK, hook.id)
    assert got.is_signed_with(hook.secret)
    assert got.said["data"]["test"] is True


async def test_attempts_are_listed_with_the_repeated_ones(service):
    with receiving() as receiver:
        receiver.answer = status(500)
        hook = await subscribe(service, receiver.url)
        await made(service, new_key())
        first, second = (await asyncio.to_thread(receiver.wait, 2))[:2]
        receiver.answer = status(204)
        tried = await service.ask(ops.DELIVERIES, hook.id)
        await service.ask(ops.DELETE_WEBHOOK, hook.id)
    assert first.header("Event-Id") == second.header("Event-Id")
    assert (first.header("Attempt"), second.header("Attempt")) == ("1", "2")
    assert first.body == second.body
    assert len(tried) >= 1


async def test_after_twenty_failures_it_is_off_until_the_client_turns_it_on(service):
    with receiving() as receiver:
        receiver.answer = status(410)
        hook = await subscribe(service, receiver.url)
        await asyncio.gather(*(made(service, new_key()) for _ in range(20)))
        await asyncio.to_thread(receiver.wait, 20)
        until = time.monotonic() + WITHIN
        while (await service.ask(ops.GET_WEBHOOK, hook.id)).is_active:
            assert time.monotonic() < until
            await asyncio.sleep(0.05)
        receiver.answer = status(200)
        assert (await service.ask(ops.EDIT_WEBHOOK, hook.id, {"is_active": True})).is_active
        before = len(receiver.got)
        await made(service, new_key())
        assert await asyncio.to_thread(receiver.wait, before + 1)
        await service.ask(ops.DELETE_WEBHOOK, hook.id)
