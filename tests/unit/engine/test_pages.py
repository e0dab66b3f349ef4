"""Rows are read as their turn comes: in order over pages and shards, few at a time, none left."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pytest

from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.engine.pages import NAMED, Batch, Pages, Queue, Work
from callsheet.tasks.engine.policy.decision import FilesStored, Observation
from callsheet.tasks.ledger.cancel_requests import ask_to_cancel
from callsheet.tasks.ledger.row_selection import RowToProcess, rows_to_process
from callsheet.tasks.ledger.values import CampaignRow, State
from callsheet.tasks.service import Created, SignedUrl, Video
from callsheet.tasks.values.briefs import CREATE
from tests.campaigns import NOW, VIDEO, Stage, brief
from tests.model.virtual_time import run_virtually
from tests.unit.engine.play import Play, Service

NAMES = ("a", "b", "c", "d", "e", "f", "g")
#: The order that the sheet asks for: the higher first, then as they stand there.
PRIORITY = {"e": 2, "c": 1, "g": 1}
ORDER = ["e", "c", "g", "a", "b", "d", "f"]


def read_all(pages: Pages, unbegun: Mapping[Queue, int]) -> list[list[int]]:
    found = []
    while page := pages.next(unbegun):
        found.append([wanted.number for wanted in page])
    return found


@pytest.mark.parametrize("last_first", [False, True])
def test_shards_are_ranges_of_the_sheet_and_read_in_the_order_of_all_rows(last_first: bool) -> None:
    places = [*range(449, -1, -1)] if last_first else [*range(450)]
    work = Work(RowToProcess(n, f"r{n}", "approved", CREATE, p) for n, p in enumerate(places))
    names = {number: f"row-{places[number]}" for number in work.ends()}
    shards, pages = work.shards(names), Pages(100)
    for shard in reversed(shards):
        pages.add(shard, Batch())
    assert (len(shards), {len(shard) for shard in shards}) == (NAMED, {2, 3})
    assert len(names) <= 2 * NAMED, "no more names are asked for than are shown"
    # The one whose row goes first is begun first.
    ends = ["row-0 to row-1", "row-447 to row-449"]
    labels = [shards[0].label, shards[-1].label]
    assert labels == (ends[::-1] if last_first else ends)
    read = read_all(pages, {})
    assert [len(page) for page in read] == [100, 100, 100, 100, 50]
    assert [number for page in read for number in page] == list(range(450))


class Counting(Service):
    """Renders at once; keeps the order of creates, and how many rows are in memory at most."""

    engine: Engine

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[str] = []
        self.unbegun = self.in_memory = 0

    async def make(self, operation: str, body: bytes, *, key: str | None) -> Created:
        self.begun.append(body.decode().partition("Tea ")[2][0])
        self.unbegun = max(self.unbegun, self.engine._active.unbegun["submit"])
        self.in_memory = max(self.in_memory, len(self.engine._active))
        return Created(video_id=f"vid_{key}", status="generating", poll_after=0.0)

    async def get(self, video_id: str) -> Video:
        return Video(id=video_id, status="completed", poll_after=None, charged=None)

    async def download(self, video_id: str) -> SignedUrl:
        return SignedUrl(url=f"https://video.example/{video_id}")


async def store_slowly(row: CampaignRow, *_: object) -> Observation:
    assert row.request == "", "a row under way is lean"
    await asyncio.sleep(60)
    return FilesStored((VIDEO,))


@pytest.mark.parametrize("page", [1, 3, 100])
def test_what_is_more_important_goes_first_over_pages_and_few_wait_in_memory(page: int) -> None:
    """And one that was cancelled before it was read is counted where it is."""
    service = Counting()
    play = Play(service)

    async def story() -> tuple[Counter[State], Mapping[str, int]]:
        briefs = (brief(name, f"Tea {name}", priority=PRIORITY.get(name, 0)) for name in NAMES)
        stage = await Stage.set(play.ledger, *briefs)
        for name in NAMES:
            await stage.approve(name)
        order = partial(rows_to_process, campaign_id=stage.campaign.id)
        work = await play.ledger.read(lambda connection: Work(order(connection)))
        at = replace(play.at, settings=play.at.settings.model_copy(update={"at_once": 1}))
        async with Engine(stage.campaign, at, deliver=store_slowly, page=page) as engine:
            service.engine = engine
            await stage.write(ask_to_cancel, stage.campaign, only={"a"}, at=NOW)
            ended = await asyncio.gather(*map(engine.process_shard, work.shards()))
        assert len(engine._active) == 0, "what is settled is let go of"
        return sum(ended, Counter()), engine.snapshot().rows

    ended, rows = run_virtually(story(), play.time)
    assert service.begun == [name for name in ORDER if name != "a"]
    assert service.unbegun <= 2 * page
    # Videos come home before more is paid for: one that is being stored, one that waits for that,
    # one that renders, and one that begins.
    assert service.in_memory <= 3 + page
    assert ended == rows == {"delivered": 6, "cancelled": 1}
