"""What Prefect is told of hints: of whose videos, and when a run is called for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from callsheet.deployments import prefect_events
from callsheet.deployments.prefect_events import HEARD, PAUSE, UNATTENDED, HintEvents, announcing
from callsheet.tasks.engine.owner import this_process
from callsheet.tasks.ledger.campaigns import ensure_campaign
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.webhook_events import Hint
from tests.campaigns import NOW, Stage, brief
from tests.leasing import acquire_lease, release_lease


@dataclass
class Prefect:
    """What it was told; it takes an event only while it is `there`, and chokes on some."""

    told: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    there: asyncio.Event = field(default_factory=asyncio.Event)
    chokes: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.there.set()

    async def emit(self, event: Mapping[str, Any]) -> None:
        await self.there.wait()
        if event["payload"]["video_id"] in self.chokes:
            self.chokes.clear()
            raise ValueError("no such event")
        self.told.append((event["event"], dict(event)))

    @property
    def events(self) -> list[tuple[str, str]]:
        """Events and their rows."""
        return [(event, named["payload"]["row"]) for event, named in self.told]


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def stage(ledger: Ledger) -> Stage:
    """A campaign nobody carries: `a` and `b` are rendering, `c` is delivered."""
    stage = await Stage.set(ledger, brief("a"), brief("b", "Milk"), brief("c", "Rum"))
    await stage.rendering("a")
    await stage.rendering("b")
    await stage.delivered("c")
    return stage


def hint(*videos: str, ping: bool = False) -> Hint:
    return Hint(digest="a" * 64, nonce="n1", videos=frozenset(videos), ping=ping)


async def tell(stage: Stage, prefect: Prefect, hints: Iterable[Hint]) -> None:
    # However slow the machine is: what is told counts here, not how soon.
    async with announcing(stage.ledger, prefect.emit, clock=Clock(), drain=60) as announce:
        for one in hints:
            announce(one)


async def test_an_event_says_whose_the_video_is(stage):
    sheet = "https://example.com/s.csv?X-Amz-Signature=abc"
    await stage.write(ensure_campaign, "spring", sheet=sheet, sheet_digest="d", at=NOW)
    prefect = Prefect()
    await tell(stage, prefect, [hint("vid_a")])
    assert [event for event, _ in prefect.told] == [HEARD, UNATTENDED]
    for _, named in prefect.told:
        assert named["resource"]["prefect.resource.id"] == "callsheet.campaign.spring"
        ids = {one["prefect.resource.role"]: one["prefect.resource.id"] for one in named["related"]}
        assert ids == {"row": "callsheet.row.spring.a", "video": "callsheet.video.vid_a"}
        assert named["payload"] == {
            "campaign": "spring",
            "row": "a",
            "video_id": "vid_a",
            "sheet": "https://example.com/s.csv?***",
            "attended": False,
        }


async def test_a_hint_of_many_videos_tells_of_each_of_ours_and_calls_for_each_campaign(stage):
    other = await Stage.set(stage.ledger, brief("z", "Gin"), name="autumn")
    await other.rendering("z")
    prefect = Prefect()
    await tell(stage, prefect, [hint("vid_x"), hint(), hint("vid_a", ping=True)])
    assert prefect.told == []
    videos = (f"vid_{n}" for n in range(1200))
    await tell(stage, prefect, [hint("vid_a", "vid_b", "vid_z", *videos)])
    assert {row for event, row in prefect.events if event == HEARD} == {"a", "b", "z"}
    assert [event for event, _ in prefect.events].count(UNATTENDED) == 2


async def test_many_hints_call_for_one_run(stage):
    prefect = Prefect()
    await tell(stage, prefect, [hint("vid_a"), hint("vid_b")] * 50)
    assert len(prefect.told) == 101
    assert [event for event, _ in prefect.told].count(UNATTENDED) == 1


async def test_calls_become_rarer_while_nobody_comes(stage):
    prefect, clock = Prefect(), Clock()
    events = HintEvents(stage.ledger, clock, prefect.emit)
    called = []
    for minute in range(8):
        clock.now = NOW + minute * PAUSE
        prefect.told.clear()
        await events.tell(hint("vid_a"))
        called += [minute for event, _ in prefect.told if event == UNATTENDED]
    assert called == [0, 1, 3, 7]


async def test_no_run_is_called_for_while_one_is_at_work(stage):
    owner = f"{this_process()}:1"
    await stage.write(acquire_lease, stage.campaign, owner=owner)
    prefect = Prefect()
    await tell(stage, prefect, [hint("vid_a")])
    assert prefect.events == [(HEARD, "a")]
    assert prefect.told[0][1]["payload"]["attended"] is True

    await stage.write(release_lease, stage.campaign, owner=owner)
    await tell(stage, prefect, [hint("vid_a")])
    assert prefect.events[1:] == [(HEARD, "a"), (UNATTENDED, "a")]


async def test_a_run_that_is_gone_attends_to_nothing(stage):
    other = await asyncio.create_subprocess_exec("sleep", "60")
    host, _, _, place = this_process().split(":")
    alive = f"{host}:{other.pid}::{place}:1"
    await stage.write(acquire_lease, stage.campaign, owner=alive)
    prefect = Prefect()
    await tell(stage, prefect, [hint("vid_a")])
    other.kill()
    await other.wait()
    await tell(stage, prefect, [hint("vid_a")])
    assert prefect.events == [(HEARD, "a"), (HEARD, "a"), (UNATTENDED, "a")]


async def test_a_late_hint_of_a_delivered_video_calls_for_no_run(stage):
    prefect = Prefect()
    await tell(stage, prefect, [hint("vid_c")])
    assert prefect.events == [(HEARD, "c")]


@pytest.mark.merge
async def test_while_prefect_is_away_nobody_waits_and_the_rest_is_counted(stage, caplog):
    prefect = Prefect()
    prefect.there.clear()
    async with (
        asyncio.timeout(prefect_events.DRAIN + 60),
        announcing(stage.ledger, prefect.emit, clock=Clock()) as announce,
    ):
        # Never ends if it waits for Prefect, which does not come back.
        for _ in range(prefect_events.ROOM + 10):
            announce(hint("vid_a"))
    assert prefect.told == []
    count = prefect_events.ROOM + 10
    assert f"{count} of {count} webhook events were not sent to Prefect" in caplog.text


async def test_one_hint_that_prefect_chokes_on_does_not_silence_the_rest(stage, caplog):
    prefect = Prefect(chokes={"vid_a"})
    await tell(stage, prefect, [hint("vid_a"), hint("vid_b")])
    assert (HEARD, "b") in prefect.events
    assert "ValueError" in caplog.text
    assert "1 of 2 webhook events were not sent to Prefect" in caplog.text
