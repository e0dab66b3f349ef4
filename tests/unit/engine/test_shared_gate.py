"""One gate for all processes of a ledger: what one was told, the others keep to."""

from __future__ import annotations

import asyncio
import math
from datetime import UTC, datetime
from typing import Any, cast

import httpx
import pytest

from callsheet.tasks.engine.context import AFTER_FAULT, EVERY, following_gate
from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.engine.policy.decision import Accepted
from callsheet.tasks.engine.submit import submit, submit_unkeyed
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.service_state import close_gate
from callsheet.tasks.runtime.process import utc_now
from callsheet.tasks.service import Gate, VideoService
from tests.campaigns import NOW, Stage, brief
from tests.lent import lent
from tests.model.plain_ledger import PlainLedger
from tests.model.virtual_time import Fuse, VirtualTime, run_virtually
from tests.unit.engine.play import context

#: Creates that may be under way at once.
AT_ONCE = 4
#: Creates that the service takes in ten seconds.
TAKEN = 2


async def test_what_another_process_was_told_is_kept_to(ledger: Ledger):
    async with VideoService(base_url="http://127.0.0.1:9/api/v1", api_key="mav_1") as service:
        until = utc_now().timestamp() + 60
        async with following_gate(ledger, service, "o"):
            await asyncio.sleep(0.05)
            assert service.gate.is_open
            await ledger.write(close_gate, organisation="o", until=until)
            # Asked for twice within so long.
            await asyncio.sleep(3 * EVERY)
            assert not service.gate.is_open
        assert service.gate.closed_until.timestamp() == pytest.approx(until)


@pytest.mark.parametrize("operation", ["create", "image-to-video"])
async def test_a_create_is_not_sent_before_the_moment_that_another_process_was_told(
    ledger: Ledger, operation: str
):
    """It is told of with the intent, so that not even one leaves in the meantime."""
    moment, sent = [NOW], list[float]()

    async def sleep(seconds: float) -> None:
        moment[0] += seconds

    def now() -> datetime:
        return datetime.fromtimestamp(moment[0], UTC)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"data": []})
        sent.append(moment[0])
        return httpx.Response(202, json={"data": {"id": "vid_1"}})

    service = VideoService(
        base_url="http://127.0.0.1:9/api/v1",
        api_key="mav_1",
        connections=lent(httpx.MockTransport(answer)),
        gate=Gate(clock=now, sleep=sleep),
        clock=now,
        sleep=sleep,
    )
    stage = await Stage.set(ledger, brief("a", "Tea", operation=operation))
    row = await stage.approve("a")
    at = context(service, ledger, clock=lambda: moment[0])
    await ledger.write(close_gate, organisation="studio", until=NOW + 30)
    keyed = operation == "create"
    outcome = await (submit(row, at) if keyed else submit_unkeyed(row, at, lambda: True))
    assert isinstance(outcome[1], Accepted)
    assert len(sent) == 1
    assert sent[0] >= NOW + 30


async def test_a_fault_does_not_end_the_following():
    slept: list[float] = []
    told = asyncio.Event()

    class Faulty:
        async def read(self, _: object, **named: object) -> float:
            if len(slept) < 2:
                raise ValueError("never thought of")
            return utc_now().timestamp() + 60

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) > 2:
            told.set()
        await asyncio.sleep(0)

    async with (
        VideoService(base_url="http://127.0.0.1:9/api/v1", api_key="mav_1") as service,
        following_gate(cast(Any, Faulty()), service, "o", sleep=sleep),
    ):
        await told.wait()
        assert not service.gate.is_open
    assert slept[:3] == [AFTER_FAULT, EVERY, EVERY]


def test_no_more_creates_than_at_once_leave_when_the_gate_opens():
    """Those that the service refuses wait, and are all made once, under their first keys."""
    time, ledger = VirtualTime(NOW), cast(Any, PlainLedger(Fuse()))
    names = [f"r{n}" for n in range(8)]
    sent: list[tuple[int, bytes]] = []
    made: list[tuple[int, bytes]] = []
    under_way: list[int] = [0]
    over = asyncio.Event()

    async def passed(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"data": {"id": "vid_1", "status": "generating"}})
        under_way.append(under_way[-1] + 1)
        answered = answer(request)
        await asyncio.sleep(0.5)
        under_way.append(under_way[-1] - 1)
        return answered

    def answer(request: httpx.Request) -> httpx.Response:
        window = int((time.now - NOW) / 10)
        sent.append((window, request.content))
        if sum(one == window for one, _ in made) == TAKEN:
            after = math.ceil(NOW + 10 * (window + 1) - time.now)
            return httpx.Response(429, headers={"retry-after": str(after)})
        made.append(sent[-1])
        if len(made) == len(names):
            over.set()
        return httpx.Response(202, json={"data": {"id": f"vid_{len(made)}"}})

    async def story() -> None:
        service = VideoService(
            base_url="http://127.0.0.1:9/api/v1",
            api_key="mav_1",
            connections=lent(httpx.MockTransport(passed)),
            gate=Gate(clock=time.moment, random=lambda: 0.0),
            clock=time.moment,
        )
        at = context(service, ledger, clock=time.seconds, CALLSHEET_AT_ONCE=str(AT_ONCE))
        stage = await Stage.set(ledger, *(brief(name, name) for name in names))
        rows = [await stage.approve(name) for name in names]
        async with Engine(stage.campaign, at) as engine:
            processing = asyncio.create_task(engine.process(rows))
            await over.wait()
            engine.stop("the test is over")
            await processing

    run_virtually(story(), time)
    assert len(made) == len({body for _, body in made}) == len(names)
    assert {body for _, body in sent} == {body for _, body in made}, "all under their first keys"
    assert len(sent) > len(made)
    assert max(under_way) == AT_ONCE
