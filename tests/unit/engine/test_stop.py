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
from callsheet.tasks.runtime.errors import (
    LedgerError,
    NotFound,
    RunStopped,
)
from callsheet.tasks.service import Video
from tests.campaigns import NOW, Stage, brief
from tests.model.virtual_time import run_virtually
from tests.unit.engine.play import DEADLINE, TROUBLE, Play, Service

#: What has no list answers all the same.
GONE = NotFound("404", operation="list_videos", status=404)


@pytest.mark.merge
@pytest.mark.parametrize(("sick", "listing"), [({"vid_a"}, None), ({"vid_a", "vid_b"}, GONE)])
def test_sick_videos_are_the_trouble_of_their_rows_while_the_service_answers_at_all(
    sick: set[str], listing: NotFound | None
) -> None:
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


CLIP = brief("a", operation="image-to-video", max_credits=12)


async def _stopped(play: Play, *, after: float, takes: float) -> tuple[str, int, float]:
    """Stop a run of one clip; return its state, how many calls are open, and how long that took."""
    stage = await Stage.set(play.ledger, CLIP)
    row = await stage.approve("a")
    async with Engine(stage.campaign, play.at) as engine:
        processing = asyncio.create_task(engine.process([row]))
        await asyncio.sleep(after)
        paying = engine.paying
        engine.stop("the test is over")
        began = play.time.now
    await processing
    assert paying == (["a"] if takes else [])
    found = await play.ledger.read(unsettled_calls, organisation="studio")
    return (await stage.row("a")).state, len(found), play.time.now - began


@pytest.mark.merge
def test_a_paid_call_without_a_key_is_waited_for_when_a_run_is_stopped() -> None:
    play = Play(Service(takes=100))
    state, unsettled, seconds = run_virtually(_stopped(play, after=1, takes=100), play.time)
    assert (state, unsettled) == ("rendering", 0)
    assert seconds == pytest.approx(99, abs=0.01)


class Slow(Service):
    async def list_videos(self) -> AsyncIterator[Video]:
        await asyncio.sleep(3)
        async for video in super().list_videos():
            yield video


def test_a_run_that_is_stopped_begins_no_paid_call_without_a_key() -> None:
    play = Play(Slow())
    state, unsettled, seconds = run_virtually(_stopped(play, after=1, takes=0), play.time)
    assert (state, unsettled) == ("approved", 0)
    assert seconds == pytest.approx(2, abs=0.01)


def test_a_row_that_needs_a_list_which_never_comes_is_held_and_the_run_goes_on() -> None:
    class Unlisted(Service):
        async def templates(self) -> list[object]:
            return []

    play = Play(Unlisted(listing=TROUBLE))

    async def of_a_clip() -> tuple[Engine, CampaignRow]:
        stage = await Stage.set(play.ledger, CLIP)
        row = await stage.approve("a")
        async with Engine(stage.campaign, play.at) as engine:
            await engine.process([row])
        return engine, await stage.row("a")

    engine, row = run_virtually(of_a_clip(), play.time)
    assert engine.parked_because is None
    assert row.state == "held"
    assert "not begun, 500: nothing was spent on it; run again" in str(row.reason)
    assert play.time.now - NOW < 600


@pytest.mark.parametrize(
    ("closed", "words"),
    [
        (None, "the service has not answered since 00:16:4"),
        ("2126-01-01T08:00:00+00:00", "the service accepts no requests before 08:00:00 UTC"),
    ],
)
def test_a_run_says_what_all_its_rows_wait_for(closed: str | None, words: str) -> None:
    service = Service(sick={"vid_a"}, listing=TROUBLE)
    if closed is not None:
        service.gate.close(datetime.fromisoformat(closed))
    play, seen = Play(service), set[str | None]()

    async def story() -> None:
        stage = await Stage.set(play.ledger, brief())
        rows = [await stage.rendering()]
        async with Engine(stage.campaign, play.at) as engine:
            processing = asyncio.create_task(engine.process(rows))
            while not processing.done():
                seen.add(engine.snapshot().waits_for)
                await asyncio.sleep(1)
            await processing

    run_virtually(story(), play.time)
    assert any(one is not None and one.startswith(words) for one in seen), seen


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
