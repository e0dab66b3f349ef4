"""Calls that are cancelled under way by the hundred, and steps that are carried out twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest

from callsheet.flows.executor import prepare
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.production import produce_step
from callsheet.tasks.campaign.production import production as producing
from callsheet.tasks.campaign.run import open_run
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.service import VideoService
from callsheet.tasks.store import Fetcher
from tests.approvers import Approving
from tests.faults.production import Production

pytestmark = pytest.mark.merge

CONTENT = b"\x00\x00\x00\x10ftypisom\x00\x00\x00\x00\x00\x00\x00\x08moov"
VIDEO = b'{"data": {"id": "vid_1", "status": "generating"}}'


@pytest.fixture
async def silent() -> AsyncIterator[tuple[str, Mapping[str, int]]]:
    """A server that answers `?quick` and keeps all others waiting; its port, and who came."""
    count = {"held": 0}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"quick" not in head:
            count["held"] += 1
            await reader.read()
        body = CONTENT if b"/content" in head else VIDEO
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", count
    server.close()


async def _cut_off(calls: list[asyncio.Task[object]], count: Mapping[str, int]) -> None:
    """Cancel calls once as many as can be are under way."""
    last = -1
    while not count["held"] or count["held"] != last:
        last = count["held"]
        await asyncio.sleep(0.2)
    for call in calls:
        call.cancel()
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(end, asyncio.CancelledError) for end in ended)


async def test_calls_and_downloads_go_on_after_hundreds_were_cut_off(silent, tmp_path) -> None:
    address, count = silent

    async def quick() -> str:
        return f"{address}/content?quick"

    async def slow() -> str:
        return f"{address}/content"

    async with VideoService(base_url=f"{address}/api/v1", api_key="mav_x") as service:
        for _ in range(3):
            calls = [asyncio.create_task(service.get(f"vid_{n}")) for n in range(200)]
            await _cut_off(calls, count)
        video = await asyncio.wait_for(service.get("vid_quick"), 30)
    assert video.status == "generating"
    async with Fetcher(spool=tmp_path, allow_http=True) as fetcher:
        for turn in range(3):
            calls = [asyncio.create_task(fetcher.fetch(f"{turn}-{n}", slow)) for n in range(100)]
            await _cut_off(calls, count)
        fetched = await asyncio.wait_for(fetcher.fetch("quick", quick), 30)
    assert fetched.path.read_bytes() == CONTENT


async def test_a_step_that_is_carried_out_again_pays_nothing(production: Production) -> None:
    production.asks_for(3)
    folder = production.desk.folder
    environ = {**production.desk.environ, "CALLSHEET_STORE": str(production.store)}
    settings = load_settings(environ=environ, folder=folder)

    options = RunOptions(sheet=str(folder / production.sheet))
    async with open_run(options, settings, approver=Approving()) as run:
        campaign = await prepare(run)
        async with producing(run) as shards:
            for shard in range(len(shards)):
                first = await produce_step(run, campaign, shard, "first")
                # As Prefect does when it has not heard of the success.
                again = await produce_step(run, campaign, shard, "again")
                assert first == again == {"delivered": 1}
    assert production.count("reserve") == 3
    await asyncio.to_thread(production.ends_well)
