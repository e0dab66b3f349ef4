"""When a run stops before its rows are settled, and what it lets finish: on a virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime

import pytest
from sqlalchemy import Connection

from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.ledger.service_state import unsettled_calls
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.errors import LedgerError, NotFound, RunStopped
from callsheet.tasks.service import Created, Video
from tests.campaigns import NOW, Stage, brief
from tests.model.virtual_time import run_virtually
from tests.unit.engine.play import DEADLINE, TROUBLE, Play, Service

#: What has no list answers all the same.
GONE = NotFound("404", operation="list_videos", status=404)


@pytest.mark.merge
@pytest.mark.parametrize(("sick", "listing"), [({"vid_a"}, None), ({"vid_a", "vid_b"}, GONE)])
def test_sick_videos_are_the_trouble_of_their_rows_while_the_service_answers_at_all(sick, listing):
    play = Play(Service(sick=sick, listing=listing))
    engine, rows = run_virtually(play.render("a", "b", hinted=True), play.time)
    assert engine.parked_because is None
    assert {row.state for row in rows} == {"stalled"}
    assert "500" in str(rows[0].reason)
    assert play.time.now - NOW > DEADLINE


@pytest.mark.parametrize("names", [["a"], ["a", "b"]])
def test_a_service_that_answers_nobody_parks_the_run_after_two_minutes(names: list[str]) -> None:
    play = Play(Service(sick={"vid_a", "vid_b"}, listing=TROUBLE))
    engine, rows = run_virtually(play.render(*names, hinted=True), play.time)
    assert "has not answered for 120 s (500)" in str(engine.parked_because)
    assert engine.parked_until.timestamp() == pytest.approx(play.time.now + 300, abs=0.01)
    assert {row.state for row in rows} == {"rendering"}
    assert play.time.now - NOW < 300


class SlowList(Service):
    """Lists videos after three seconds."""

    async def list_videos(self) -> AsyncIterator[Video]:
        await asyncio.sleep(3)
        async for video in super().list_videos():
            yield video


class SlowMake(Service):
    """Answers a paid call after a hundred seconds."""

    async def make(self, operation: str, body: bytes, *, key: str | None) -> Created:
        await asyncio.sleep(100)
        return await super().make(operation, body, key=key)


@pytest.mark.parametrize(
    ("service", "state", "seconds"), [(SlowList, "approved", 3), (SlowMake, "rendering", 100)]
)
def test_a_stopped_run_waits_for_a_paid_call_without_a_key_and_begins_none(
    service: type[Service], state: str, seconds: float
) -> None:
    play = Play(service())

    async def stopped() -> CampaignRow:
        clip = brief("a", operation="image-to-video", max_credits=12)
        stage = await Stage.set(play.ledger, clip)
        async with Engine(stage.campaign, play.at) as engine:
            processing = asyncio.create_task(engine.process([await stage.approve("a")]))
            await asyncio.sleep(1)
            engine.stop("the test is over")
        await processing
        assert await play.ledger.read(unsettled_calls, organisation="studio") == []
        return await stage.row("a")

    assert run_virtually(stopped(), play.time).state == state
    assert play.time.now - NOW == pytest.approx(seconds, abs=0.01)


WAITS = [
    (None, "the service has not answered since 00:16:4"),
    ("2126-01-01T08:00:00+00:00", "the service accepts no requests before 08:00:00 UTC"),
]


@pytest.mark.parametrize(("closed", "words"), WAITS)
def test_a_run_says_what_all_its_rows_wait_for(closed: str | None, words: str) -> None:
    service = Service(sick={"vid_a"}, listing=TROUBLE)
    if closed is not None:
        service.gate.close(datetime.fromisoformat(closed))
    play, seen = Play(service), set[str]()

    async def story() -> None:
        stage = await Stage.set(play.ledger, brief())
        async with Engine(stage.campaign, play.at) as engine:
            processing = asyncio.create_task(engine.process([await stage.rendering()]))
            while not processing.done():
                seen.add(engine.snapshot().waits_for or "")
                await asyncio.sleep(1)

    run_virtually(story(), play.time)
    assert any(one.startswith(words) for one in seen), seen


def test_a_ledger_that_takes_no_intent_breaks_the_run_off_and_leaves_no_row_waiting() -> None:
    play = Play(Service())

    def locked(_: Connection) -> None:
        raise LedgerError("the ledger is locked by another program")

    async def active() -> list[CampaignRow]:
        stage = await Stage.set(play.ledger, brief("a", "Tea a"), brief("b", "Tea b"))
        rows = [await stage.approve(name) for name in ("a", "b")]
        play.ledger.watch = locked
        async with asyncio.timeout(DEADLINE), Engine(stage.campaign, play.at) as engine:
            with pytest.raises(RunStopped, match="run stopped: the ledger is locked"):
                await engine.process(rows)
        return await stage.rows()

    assert {row.state for row in run_virtually(active(), play.time)} == {"approved"}
