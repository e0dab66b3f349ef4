"""The other ways of answering that the specification leaves open, and our client against each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from callsheet.tasks.runtime.errors import Conflict, NotFound
from callsheet.tasks.service import VideoService
from callsheet.tasks.service import operations as ops
from callsheet.tasks.values.briefs import canonical_json
from tests.unit.service.asked import subscribe

REQUEST = {
    "script": {"scenes": [{"text": "Here is the lighthouse."}]},
    "title": "Lighthouse",
    "duration_seconds": 1,
}
FINISHED = {"bare": "completed", "renamed": "ready"}


@pytest.fixture(scope="module", params=["bare", "renamed"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def speaking(
    dialect: str, begin: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """A sandbox that makes real videos in about a second and speaks the dialect."""
    state = tmp_path_factory.mktemp(dialect)
    return begin("--time-scale", "200", "--answers", dialect, state=state)


def frozen(key: str, **more: object) -> bytes:
    return canonical_json({**REQUEST, "start_generation": True, "idempotency_key": key, **more})


def client(running: Any) -> VideoService:
    return VideoService(base_url=running.ready["base_url"], api_key=running.ready["api_key"])


async def finished(service: VideoService, video: str) -> str:
    for _ in range(600):
        try:
            return (await service.download(video)).url
        except Conflict:
            await asyncio.sleep(0.05)
    raise AssertionError("it was never finished")


async def test_our_client_takes_a_video_all_the_way(speaking: Any, dialect: str) -> None:
    async with client(speaking) as service:
        quote = await service.estimate(REQUEST)
        created = await service.create(frozen("way"), key="way")
        assert created.video_id.startswith("vid_")
        assert created.status == "generating"
        assert created.poll_after is not None
        url = await finished(service, created.video_id)
        seen = await service.get(created.video_id)
        again = await service.create(frozen("way"), key="way")
        assert b" --> " in await service.captions(created.video_id, "srt")
    assert (seen.id, seen.status) == (created.video_id, FINISHED[dialect])
    assert again.video_id == created.video_id
    [charged] = [one["credits"] for one in speaking.charges() if one["event"] == "charge"]
    assert quote.amount == charged
    async with httpx.AsyncClient() as anyone:
        rendered = await anyone.get(url)
    assert (rendered.status_code, rendered.content[4:8]) == (200, b"ftyp")


async def test_our_client_cancels(speaking: Any) -> None:
    async with client(speaking) as service:
        created = await service.create(frozen("long", duration_seconds=600), key="long")
        await service.cancel(created.video_id)
        with pytest.raises(Conflict):
            await service.cancel(created.video_id)
    assert speaking.events(created.video_id) == ["reserve", "release"]


async def test_our_client_reads_every_page(speaking: Any) -> None:
    async with client(speaking) as service:
        drafts = [
            (await service.create(frozen(key, start_generation=False), key=key)).video_id
            for key in (f"page{nth}" for nth in range(25))
        ]
        seen = [video.id async for video in service.list_videos()]
    assert len(seen) == len(set(seen))
    assert set(drafts) <= set(seen)


async def test_our_client_looks_at_what_else_there_is(speaking: Any) -> None:
    async with client(speaking) as service:
        body = frozen("else", start_generation=False)
        video = (await service.create(body, key="else")).video_id
        made = await subscribe(service, "https://hooks.example.com/callsheet")
        assert made.secret
        assert [one.id for one in await service.ask(ops.LIST_WEBHOOKS)] == [made.id]
        changed = await service.ask(ops.EDIT_WEBHOOK, made.id, {"is_active": False})
        assert (changed.id, changed.is_active) == (made.id, False)
        await service.ask(ops.DELETE_WEBHOOK, made.id)
        assert await service.ask(ops.LIST_WEBHOOKS) == []
        assert await service.tools()
        assert await service.templates()
        await service.ask(ops.GENERATE, video)
        await finished(service, video)
        assert await service.renders(video)
        link = await service.ask(ops.SHARE, video)
        await service.ask(ops.DELETE, video)
    assert "/share/" in link.url


async def test_our_client_is_refused_as_ever(speaking: Any) -> None:
    async with client(speaking) as service:
        with pytest.raises(NotFound) as caught:
            await service.get("vid_none")
    assert caught.value.status == 404


def test_what_the_specification_names_stays(speaking: Any, dialect: str) -> None:
    answer = speaking.client.post("/videos", json={**REQUEST, "start_generation": False})
    said = answer.json()
    assert answer.status_code == 202
    made = said if dialect == "bare" else said["data"]
    assert (made["status"], made["poll_after_seconds"]) == ("draft", 0)
    refused = speaking.client.post("/videos", json={})
    assert refused.status_code == 400
    assert set(refused.json()) == {"data", "error", "meta"}


def test_the_envelope_is_gone_or_another(speaking: Any, dialect: str) -> None:
    said = speaking.client.get("/credits").json()
    if dialect == "bare":
        assert set(said) == {"balance", "reserved", "available"}
    else:
        assert set(said) == {"data", "meta", "links"}
        assert said["meta"]["request_id"].startswith("req_")


def test_the_description_is_that_of_the_usual_answers(speaking: Any, instant: Any) -> None:
    usual = instant.client.get("/openapi.json").json()
    assert speaking.client.get("/openapi.json").json() == usual
    assert not any("_sandbox" in path for path in usual["paths"])


def test_faults_strike_in_every_dialect(speaking: Any) -> None:
    door = f"{speaking.ready['auth_url']}/_sandbox/faults"
    fault = {"on": "create", "do": "shapeless", "nth": 1}
    assert speaking.client.post(door, json=fault).status_code == 201
    said = speaking.client.post("/videos", json={**REQUEST, "start_generation": False}).json()
    speaking.client.delete(door)
    assert "vid_" not in str(said)
