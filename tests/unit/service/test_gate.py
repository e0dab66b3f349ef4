"""One gate for the organisation key: nothing leaves before the moment the service named."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from callsheet.tasks.runtime.errors import Conflict, OutcomeUnknown, RateLimited
from callsheet.tasks.service import Gate
from tests.unit.service.asked import ASKED

OK = (200, {"data": {"id": "vid_1", "url": "https://f.test/x"}, "error": None, "meta": {}})
BODY = b'{"idempotency_key":"cs1_k"}'


def limited(after):
    return (
        429,
        {"error": {"message": "slow down"}},
        {} if after is None else {"retry-after": after},
    )


def gate_of(time, **options):
    return Gate(clock=time.clock, sleep=time.sleep, random=time.random, **options)


@pytest.mark.safeguard("tasks/service/rate_limits.py", "if left <= 0:", "if True:")
@pytest.mark.parametrize(("chance", "slept"), [(0.0, 12), (1.0, 13.2)])
async def test_a_short_wait_is_slept_in_place_and_never_cut(talk, time, chance, slept):
    # Up to a tenth is added, so that not all wake together.
    time.chance = chance
    service, seen = talk(limited("12"), OK)
    await service.get("vid_1")
    assert time.slept == pytest.approx([slept])
    assert len(seen) == 2


@pytest.mark.parametrize("after", [None, "nonsense", "nan", "-3", "0"])
async def test_without_a_usable_moment_the_wait_grows(talk, time, after):
    time.chance = 1.0
    service, _ = talk(limited(after), limited(after), limited(after), OK)
    await service.get("vid_1")
    assert time.slept == pytest.approx([0.55, 1.1, 2.2])


async def test_a_long_wait_is_given_back_with_its_moment(talk, time):
    service, seen = talk(limited("61"))
    with pytest.raises(RateLimited) as caught:
        await service.create(BODY, key="cs1_k")
    assert caught.value.retry_at == time.now + timedelta(seconds=61)
    assert caught.value.status == 429
    assert "slow down" in str(caught.value)
    assert (len(seen), time.slept) == (1, [])


@pytest.mark.parametrize("name", ASKED)
async def test_while_it_is_closed_nothing_of_any_client_leaves_before_its_moment(talk, time, name):
    gate = gate_of(time)
    service, seen = talk(limited("7200"), gate=gate)
    with pytest.raises(RateLimited) as first:
        await ASKED[name].call(service)
    assert first.value.retry_at == gate.closed_until == time.now + timedelta(hours=2)
    other, others = talk(OK, gate=gate)
    with pytest.raises(RateLimited) as caught:
        await other.get("vid_1")
    assert (caught.value.retry_at, caught.value.sent) == (first.value.retry_at, "no")
    assert (caught.value.attempts, len(seen), others) == (0, 1, [])
    time.now += timedelta(hours=2)
    await other.get("vid_1")
    assert len(others) == 1


async def test_closing_is_told_so_that_it_can_be_kept_and_restored(talk, time):
    kept = []
    service, _ = talk(limited("100"), gate=gate_of(time, on_close=kept.append))
    with pytest.raises(RateLimited):
        await service.get("vid_1")
    assert kept == [time.now + timedelta(seconds=100)]
    restored, seen = talk(OK, gate=gate_of(time, closed_until=kept[0]))
    with pytest.raises(RateLimited) as caught:
        await restored.get("vid_1")
    assert caught.value.retry_at == kept[0]
    assert not seen


def test_an_earlier_moment_does_not_open_it_sooner(time):
    kept = []
    gate = gate_of(time, on_close=kept.append)
    later = time.now + timedelta(seconds=50)
    gate.close(later)
    gate.close(time.now + timedelta(seconds=5))
    assert gate.closed_until == later
    assert kept == [later]
    assert not gate.is_open


async def test_a_waiter_waits_on_when_it_is_closed_again_meanwhile(time):
    async def sleep(seconds):
        if not time.slept:
            gate.close(time.now + timedelta(seconds=25))
        await time.sleep(seconds)

    gate = Gate(clock=time.clock, sleep=sleep, random=time.random)
    gate.close(time.now + timedelta(seconds=10))
    await gate.wait()
    assert time.slept == [10, 15]


async def test_one_call_does_not_wait_for_ever_in_small_steps(talk, time):
    service, seen = talk(limited("59"))
    with pytest.raises(RateLimited):
        await service.get("vid_1")
    assert len(seen) == 5
    assert sum(time.slept) <= 300


async def test_a_trouble_with_a_moment_closes_it_too(talk, time):
    service, _ = talk((503, {}, {"retry-after": "900"}), OK)
    with pytest.raises(OutcomeUnknown) as first:
        await service.create(BODY, key="cs1_k")
    with pytest.raises(RateLimited) as second:
        await service.get("vid_1")
    assert first.value.retry_at == second.value.retry_at == time.now + timedelta(seconds=900)


async def test_a_video_that_is_not_ready_does_not_close_it(talk, time):
    service, seen = talk((409, {}, {"retry-after": "900"}), OK)
    with pytest.raises(Conflict, match="not ready") as caught:
        await service.download("vid_1")
    assert caught.value.retry_at == time.now + timedelta(seconds=900)
    await service.get("vid_2")
    assert len(seen) == 2


async def test_no_request_leaves_before_the_moment_however_many_wait(talk, time):
    gate = gate_of(time)
    moments = []
    service, seen = talk(
        limited("30"), OK, gate=gate, on_request=lambda _: moments.append(time.now)
    )
    begin = time.now
    await service.get("vid_0")
    await asyncio.gather(*(service.get(f"vid_{n}") for n in range(20)))
    assert len(seen) == 22
    assert all(moment >= begin + timedelta(seconds=30) for moment in moments[1:])
