"""Rows are read as their turn comes: in order over pages and shards, few at a time, none left."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

import pytest

from callsheet.tasks.engine.active_rows import Deliver
from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.engine.pages import NAMED, Batch, Pages, Queue, Work
from callsheet.tasks.engine.policy.decision import FilesStored, Memory, Observation
from callsheet.tasks.engine.progress import Snapshot
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
FULL: Mapping[Queue, int] = {"submit": 9, "submit_unkeyed": 9}


def work_of(*waiting: tuple[State, str]) -> Work:
    return Work(
        RowToProcess(n, f"r{n}", state, operation, n)
        for n, (state, operation) in enumerate(waiting)
    )


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


def test_few_rows_are_shards_of_their_own_and_bear_their_names() -> None:
    shards = work_of(*[("ready", CREATE)] * 3).shards()
    assert [shard.label for shard in shards] == ["r0", "r1", "r2"]
    assert work_of().shards() == []


def test_what_is_under_way_is_read_whatever_waits_and_lanes_do_not_wait_for_each_other() -> None:
    work = work_of(
        ("approved", "image-to-video"),
        ("approved", CREATE),
        ("rendering", CREATE),
        ("approved", CREATE),
        ("submitting", "image-to-video"),
    )
    pages = Pages(2)
    for shard in work.shards():
        pages.add(shard, Batch())
    assert read_all(pages, FULL) == [[2, 4]]
    assert pages.next({}, videos=2) == [], "videos come home before more is paid for"
    assert read_all(pages, {"submit_unkeyed": 2}) == [[1, 3]]
    assert read_all(pages, {"submit": 2}) == [[0]]
    assert pages.wanted({}) is None


class Counting(Service):
    """Renders at once; keeps the order of creates, and how many rows had yet to begin then."""

    engine: Engine

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[str] = []
        self.unbegun: list[int] = []
        self.in_memory = 0

    async def make(self, operation: str, body: bytes, *, key: str | None) -> Created:
        self.begun.append(body.decode().partition("Tea ")[2][0])
        self.unbegun.append(self.engine._active.unbegun["submit"])
        self.in_memory = max(self.in_memory, len(self.engine._active))
        return Created(video_id=f"vid_{key}", status="generating", poll_after=0.0)

    async def get(self, video_id: str) -> Video:
        return Video(id=video_id, status="completed", poll_after=None, charged=None)

    async def download(self, video_id: str) -> SignedUrl:
        return SignedUrl(url=f"https://video.example/{video_id}")


async def store(row: CampaignRow, memory: Memory, address: str | None, at: Context) -> Observation:
    assert row.request == "", "a row under way is lean"
    return FilesStored((VIDEO,))


async def process(
    play: Play,
    service: Counting,
    *,
    page: int,
    cancelled: Collection[str] = (),
    deliver: Deliver = store,
) -> tuple[list[Counter[State]], list[CampaignRow], Snapshot]:
    """Carry all rows by pages, those that are `cancelled` after the order was made included."""
    briefs = (brief(name, f"Tea {name}", priority=PRIORITY.get(name, 0)) for name in NAMES)
    stage = await Stage.set(play.ledger, *briefs)
    for name in NAMES:
        await stage.approve(name)
    order = partial(rows_to_process, campaign_id=stage.campaign.id)
    work = await play.ledger.read(lambda connection: Work(order(connection)))
    at = replace(play.at, settings=play.at.settings.model_copy(update={"at_once": 1}))
    async with Engine(stage.campaign, at, deliver=deliver, page=page) as engine:
        service.engine = engine
        if cancelled:
            await stage.write(ask_to_cancel, stage.campaign, only=cancelled, at=NOW)
        ended = await asyncio.gather(*map(engine.process_shard, work.shards()))
    assert len(engine._active) == 0 or engine.parked_because, "what is settled is let go of"
    return ended, await stage.rows(), engine.snapshot()


@pytest.mark.parametrize("page", [1, 3, 100])
def test_what_is_more_important_goes_first_over_pages_and_few_wait_in_memory(page: int) -> None:
    service = Counting()
    play = Play(service)
    ended, rows, snapshot = run_virtually(process(play, service, page=page), play.time)
    assert service.begun == ORDER
    assert max(service.unbegun) <= 2 * page
    assert ended == [Counter({"delivered": 1})] * len(NAMES)
    assert {row.state for row in rows} == {"delivered"}
    assert snapshot.done == len(NAMES)


def test_videos_that_wait_to_be_delivered_come_home_before_more_is_paid_for() -> None:
    service = Counting()
    play = Play(service)

    async def store_slowly(*_: object) -> Observation:
        await asyncio.sleep(60)
        return FilesStored((VIDEO,))

    began = process(play, service, page=1, deliver=store_slowly)
    ended, _, _ = run_virtually(began, play.time)
    assert (service.begun, len(ended)) == (ORDER, len(NAMES))
    # One that is being stored, one that waits for that, one that renders, and one that begins.
    assert service.in_memory <= 4


def test_a_row_that_was_cancelled_before_it_was_read_is_counted_where_it_is() -> None:
    service = Counting()
    play = Play(service)
    ended, _, snapshot = run_virtually(
        process(play, service, page=1, cancelled={"a", "e"}), play.time
    )
    assert service.begun == [name for name in ORDER if name not in ("a", "e")]
    assert sum(ended, Counter()) == Counter({"delivered": 5, "cancelled": 2})
    assert snapshot.rows == {"delivered": 5, "cancelled": 2}


def test_a_run_that_is_stopped_counts_what_was_never_read() -> None:
    class Stopping(Counting):
        async def make(self, operation: str, body: bytes, *, key: str | None) -> Created:
            made = await super().make(operation, body, key=key)
            if len(self.begun) == 3:
                self.engine.stop("the test is over")
            return made

    service = Stopping()
    play = Play(service)
    ended, rows, _ = run_virtually(process(play, service, page=1), play.time)
    told = sum(ended, Counter())
    assert service.begun == ORDER[:3]
    assert (sum(told.values()), told["approved"]) == (len(NAMES), 4)
    assert Counter(row.state for row in rows)["approved"] == 4
