"""One pace for all processes of a ledger: turns are nobody's twice, a refusal counts once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from sqlalchemy import Connection, event

from callsheet.tasks.engine.context import (
    AFTER_FAULT,
    EVERY,
    Context,
    LedgerPace,
    following_pace,
    rate_of,
)
from callsheet.tasks.engine.evidence import Baseline
from callsheet.tasks.engine.policy.decision import Accepted
from callsheet.tasks.engine.submit import submit, submit_unkeyed
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.service_state import (
    KeptPace,
    close_gate,
    gate_of,
    gate_of_group,
    keep_pace,
    pace_of,
)
from callsheet.tasks.ledger.statements import execute, gathers
from callsheet.tasks.runtime.process import utc_now
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.service import Gate, VideoService
from callsheet.tasks.service.rate_limits import RECOVERY, Rate
from tests.campaigns import NOW, Stage, brief


async def kept(ledger: Ledger) -> KeptPace:
    return await ledger.read(pace_of, organisation="o")


async def test_nothing_is_limited_before_the_service_has_refused_a_create(ledger: Ledger):
    pace = LedgerPace(ledger, "o", lambda: 1000.0)
    assert await pace.take_turns(5) == (None, [], 0.0)
    assert await kept(ledger) == KeptPace()


async def test_two_processes_take_turns_that_no_other_has_and_none_while_the_gate_is_closed(
    made_address: str,
):
    async with await open_ledger(made_address) as one, await open_ledger(made_address) as other:
        pace = KeptPace(closed_until=1000.0, rate=4.0, rate_since=1005.0 - RECOVERY)
        await one.write(keep_pace, organisation="o", pace=pace)
        early = LedgerPace(one, "o", lambda: 999.0)
        assert await early.take_turns(3) == (Rate(4.0, pace.rate_since), [], 1000.0)
        each = [LedgerPace(ledger, "o", lambda: 1005.0) for ledger in (one, other)]
        found = await asyncio.gather(*(pace.take_turns(3) for pace in each * 4))
        moments = sorted(moment for turns in found for moment in turns.moments)
        assert moments == [1005.0 + n / 4 for n in range(24)]
        assert {turns.rate for turns in found} == {Rate(4.0, 1005.0 - RECOVERY)}
        assert await one.read(gate_of, organisation="o") == 1000.0


async def test_what_is_refused_at_the_same_time_counts_once(ledger: Ledger):
    stage = await Stage.set(ledger, *(brief(f"r{n}", str(n)) for n in range(6)))
    for n in range(6):
        await stage.rendering(f"r{n}")
    # All were accepted at NOW, which is 1000.
    paces = [LedgerPace(ledger, "o", lambda: 1000.5) for _ in range(2)]
    rates = [await pace.slow_down(1000.0 + n / 10, 1002.0) for n, pace in enumerate(paces * 2)]
    assert set(rates) == {Rate(3.0, 1002.0)}
    assert await kept(ledger) == KeptPace(1002.0, 3.0, 1002.0, next_at=1002.0)
    later = LedgerPace(ledger, "o", lambda: 1003.0)
    lower = await later.slow_down(1002.5, 1004.0)
    assert lower is not None
    assert (lower.refused < 3.0, lower.since) == (True, 1004.0)
    assert rate_of(await kept(ledger)) == lower


@pytest.mark.parametrize("refused", [None, 24.0])
async def test_what_another_process_was_told_is_kept_to(ledger: Ledger, refused: float | None):
    async with VideoService(base_url="http://127.0.0.1:9/api/v1", api_key="mav_1") as service:
        until = utc_now().timestamp() + 60
        async with following_pace(ledger, service, "o"):
            await asyncio.sleep(0.05)
            assert service.gate.is_open
            if refused is None:
                await ledger.write(close_gate, organisation="o", until=until)
            else:
                pace = KeptPace(until, refused, until)
                await ledger.write(keep_pace, organisation="o", pace=pace)
            # Asked for twice within so long.
            await asyncio.sleep(3 * EVERY)
            assert not service.gate.is_open
        assert service.gate.closed_until is not None
        assert service.gate.closed_until.timestamp() == pytest.approx(until)


@pytest.mark.parametrize("operation", ["create", "image-to-video"])
async def test_a_create_is_not_sent_before_the_moment_that_another_process_was_told(
    ledger: Ledger, tmp_path: Path, operation: str
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
        transport=httpx.MockTransport(answer),
        gate=Gate(clock=now, sleep=sleep),
        clock=now,
        sleep=sleep,
    )
    stage = await Stage.set(ledger, brief("a", "Tea", operation=operation))
    row = await stage.approve("a")
    at = Context(
        settings=load_settings(environ={}, folder=tmp_path),
        ledger=ledger,
        service=service,
        store=cast(Any, None),
        fetcher=cast(Any, None),
        baseline=Baseline(ledger, service, "o"),
        clock=lambda: moment[0],
    )
    await ledger.write(close_gate, organisation="o", until=NOW + 30)
    keyed = operation == "create"
    outcome = await (submit(row, at) if keyed else submit_unkeyed(row, at, lambda: True))
    assert outcome is not None
    assert isinstance(outcome[1], Accepted)
    assert len(sent) == 1
    assert sent[0] >= NOW + 30


async def test_the_gate_is_asked_for_once_in_a_commit_until_it_may_have_changed(ledger: Ledger):
    asked: list[str] = []

    def tell(_: Any, __: Any, statement: str, *___: Any) -> None:
        asked.append(statement)

    def seen(connection: Connection) -> float:
        return gate_of_group(connection, "o")

    def shut(connection: Connection) -> None:
        close_gate(connection, "o", until=7.0)

    event.listen(ledger._writer, "before_cursor_execute", tell)
    many = [gathers(seen)] * 9
    found = await ledger.write(lambda connection: execute(connection, [*many, shut, *many]))
    assert found == [0.0] * 9 + [None] + [7.0] * 9
    assert sum("SELECT" in statement and "gates" in statement for statement in asked) == 2


async def test_a_fault_does_not_end_the_following():
    slept: list[float] = []
    told = asyncio.Event()

    class Faulty:
        async def read(self, _: object, **named: object) -> KeptPace:
            if len(slept) < 2:
                raise ValueError("never thought of")
            return KeptPace(closed_until=utc_now().timestamp() + 60)

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) > 2:
            told.set()
        await asyncio.sleep(0)

    async with (
        VideoService(base_url="http://127.0.0.1:9/api/v1", api_key="mav_1") as service,
        following_pace(cast(Any, Faulty()), service, "o", sleep=sleep),
    ):
        await told.wait()
        assert not service.gate.is_open
    assert slept[:3] == [AFTER_FAULT, EVERY, EVERY]
