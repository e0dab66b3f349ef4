"""Which video a row takes over, and that no video is ever given to two rows."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from callsheet.tasks.campaign.adoption import adopt, match
from callsheet.tasks.campaign.values import FoundVideo, Plan, PlanLine
from callsheet.tasks.ledger.decisions import hold_videos
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.runtime.errors import MovedOn
from callsheet.tasks.service import Video
from callsheet.tasks.values.briefs import Brief
from tests.campaigns import NOW, Stage, brief


def row(name: str, title: str | None = "Tea", seconds: int | None = 8, **more: Any) -> Brief:
    asked = {"title": title, "duration_seconds": seconds, **more}
    return Brief(row=name, request={n: value for n, value in asked.items() if value is not None})


def video(video_id: str, title: str | None = "Tea", seconds: int = 8, **more: Any) -> Video:
    raw = {"id": video_id, "title": title, "duration_seconds": seconds, **more}
    return Video(id=video_id, status="completed", poll_after=None, charged=None, raw=raw)


@pytest.mark.parametrize(
    ("rows", "videos", "found"),
    [
        ([row("a")], [video("vid_1")], {"a": "vid_1"}),
        ([row("a", "The  tea")], [video("vid_1", "the Tea ")], {"a": "vid_1"}),
        ([row("a")], [video("vid_1", "Coffee"), video("vid_2", seconds=9)], {}),
        # Without a title or a length nothing is certain.
        ([row("a", None)], [video("vid_1", None)], {}),
        ([row("a", seconds=None)], [video("vid_1")], {}),
        # What both say must not differ.
        ([row("a", language="de")], [video("vid_1", language="en")], {}),
        ([row("a", aspect_ratio="9:16")], [video("vid_1", aspect_ratio=None)], {"a": "vid_1"}),
        (
            [row("a", language="de"), row("b", language="en")],
            [video("vid_1", language="en"), video("vid_2", language="de")],
            {"a": "vid_2", "b": "vid_1"},
        ),
        # Two videos for a row, or two rows for a video, are for a person to decide.
        ([row("a")], [video("vid_1"), video("vid_2")], {"a": "2 videos"}),
        ([row("a"), row("b")], [video("vid_1")], {"a": "several rows", "b": "several rows"}),
        ([row("a"), row("b", language="en")], [video("vid_1", language="de")], {"a": "vid_1"}),
    ],
)  # fmt: skip
def test_a_row_has_the_only_video_with_its_title_and_length(rows, videos, found):
    outcomes = match(rows, videos)

    assert outcomes.keys() == found.keys()
    for name, outcome in outcomes.items():
        said = outcome.video_id if isinstance(outcome, FoundVideo) else outcome
        assert found[name] in said, said
        assert isinstance(outcome, FoundVideo) == found[name].startswith("vid_")


def plan_of(stage: Stage, digest: str, name: str = "a", video_id: str = "vid_x") -> Plan:
    found = FoundVideo(video_id, "title")
    line = PlanLine(row=name, title="Tea", action="adopt", digest=digest, found=found)
    return Plan(campaign=stage.campaign.name, sheet="s.csv", sheet_digest="d", lines=(line,))


async def adopted(stage: Stage, plan: Plan) -> None:
    def change(connection: Any) -> None:
        hold_videos(connection)
        adopt(connection, stage.campaign, plan, at=NOW)

    await stage.ledger.write(change)


@pytest.mark.safeguard(
    "tasks/campaign/adoption.py", "if video.video_id in taken", "if video.video_id is taken"
)
async def test_a_video_of_another_row_is_never_adopted(ledger: Ledger) -> None:
    other = await Stage.set(ledger, brief("a"), name="autumn")
    await other.rendering()
    stage = await Stage.set(ledger, brief("a"), brief("b"))
    digest = (await stage.row()).digest

    with pytest.raises(MovedOn, match="vid_a is the video of row a of autumn"):
        await adopted(stage, plan_of(stage, digest, video_id="vid_a"))

    assert (await stage.row()).take is None


@pytest.mark.safeguard(
    "tasks/ledger/decisions.py", 'dialect_of(connection).hold_table(connection, "takes")', "pass"
)
async def test_of_two_that_adopt_a_video_at_once_one_is_refused(ledger: Ledger, made_address: str):
    spring, autumn = [await Stage.set(ledger, brief("a"), name=n) for n in ("spring", "autumn")]
    first, second = [plan_of(one, (await one.row()).digest) for one in (spring, autumn)]
    adopting, other_ended = threading.Event(), threading.Event()

    def slowly(connection: Any) -> None:
        hold_videos(connection)
        adopt(connection, spring.campaign, first, at=NOW)
        adopting.set()
        # As long as the other one could overtake it.
        other_ended.wait(1)

    async with await open_ledger(made_address) as other:
        slow = asyncio.create_task(ledger.write(slowly))
        await asyncio.to_thread(adopting.wait)
        late = adopted(replace(autumn, ledger=other), second)
        (refused,) = await asyncio.gather(late, return_exceptions=True)
        other_ended.set()
        await slow
    assert isinstance(refused, MovedOn)
    assert "vid_x is the video of row a of spring" in str(refused)
    assert (await autumn.row()).take is None


async def test_a_row_that_changed_since_is_not_given_the_video(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief("a"))
    shown = plan_of(stage, (await stage.row()).digest)
    await stage.sync(replace(brief("a"), request={"topic": "Cocoa"}))

    with pytest.raises(MovedOn, match="a: the row changed"):
        await adopted(stage, shown)
