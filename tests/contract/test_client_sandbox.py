"""The client against the sandbox, over real sockets: two independent readings of one text."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import httpx
import pytest

from callsheet.tasks.runtime.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    InsufficientCredits,
    NotFound,
    RateLimited,
    Unauthenticated,
)
from tests.contract.sandboxes import REQUEST, client, finished, frozen, sandbox


async def test_a_quote_is_an_amount_and_costs_nothing(service):
    first = await service.estimate(REQUEST)
    second = await service.estimate(REQUEST | {"idempotency_key": "cs1_q"})
    assert first.amount == second.amount
    assert first.amount is not None
    assert first.amount > 0


async def test_a_video_is_created_watched_and_downloaded(service):
    created = await service.create(frozen("cs1_whole"), key="cs1_whole")
    assert created.video_id.startswith("vid_")
    assert created.status == "generating"
    assert created.poll_after is not None
    seen = await service.get(created.video_id)
    assert seen.id == created.video_id
    assert seen.status
    url = await finished(service, created.video_id)
    async with httpx.AsyncClient(verify=False) as plain:
        rendered = await plain.get(url)
    assert rendered.status_code == 200
    assert rendered.content[4:8] == b"ftyp"


async def test_captions_come_in_the_format_asked_for(service):
    created = await service.create(frozen("cs1_captions"), key="cs1_captions")
    await finished(service, created.video_id)
    assert b"WEBVTT" in await service.captions(created.video_id, "vtt")
    assert b" --> " in await service.captions(created.video_id, "srt")


async def test_the_same_key_is_the_same_video(service):
    created = [await service.create(frozen("cs1_twice"), key="cs1_twice") for _ in range(3)]
    assert len({one.video_id for one in created}) == 1


async def test_the_same_key_at_the_same_time_is_the_same_video(service):
    calls = (service.create(frozen("cs1_race"), key="cs1_race") for _ in range(8))
    assert len({one.video_id for one in await asyncio.gather(*calls)}) == 1


async def test_what_was_created_is_listed(service):
    created = await service.create(frozen("cs1_listed"), key="cs1_listed")
    assert created.video_id in [video.id async for video in service.list_videos()]


async def test_a_draft_has_no_video_yet(service):
    body = frozen("cs1_draft", start_generation=False)
    created = await service.create(body, key="cs1_draft")
    assert created.status == "draft"
    with pytest.raises(Conflict):
        await service.download(created.video_id)
    with pytest.raises(BadRequest):
        await service.captions(created.video_id, "srt")
    with pytest.raises(Conflict):
        await service.cancel(created.video_id)


async def test_a_render_under_way_is_cancelled_and_its_credits_come_back(slow):
    async with client(slow) as service:
        quote = await service.estimate(REQUEST)
        assert quote.amount is not None
        # As often as the balance allows and once more: only released credits pay for it.
        for nth in range(int(Decimal(20) / quote.amount) + 1):
            key = f"cs1_cancel{nth}"
            created = await service.create(frozen(key), key=key)
            with pytest.raises(Conflict):
                await service.download(created.video_id)
            await service.cancel(created.video_id)
        with pytest.raises(Conflict):
            await service.cancel(created.video_id)


async def test_without_credits_it_says_so(slow):
    async with client(slow) as service:
        with pytest.raises(InsufficientCredits) as caught:
            await service.create(frozen("cs1_dear", duration_seconds=600), key="cs1_dear")
    assert caught.value.status == 402


async def test_an_unknown_video_is_not_found(service):
    calls = (
        service.get("vid_nowhere"),
        service.download("vid_nowhere"),
        service.cancel("vid_nowhere"),
        service.captions("vid_nowhere", "srt"),
    )
    for call in calls:
        with pytest.raises(NotFound):
            await call


async def test_a_brief_that_is_not_one_is_refused_with_words(service):
    body = frozen("cs1_bad", aspect_ratio="4:5")
    with pytest.raises(BadRequest) as caught:
        await service.create(body, key="cs1_bad")
    assert len(str(caught.value)) > len("create was refused (400): ")


async def test_an_unknown_key_is_unauthenticated(running):
    async with client(running, "mav_unknown0key") as service:
        with pytest.raises(Unauthenticated):
            await service.get("vid_1")


async def test_a_key_without_the_scope_is_forbidden_and_told_which(running):
    async with client(running, running["keys"]["read"]) as service:
        await service.estimate(REQUEST)
        with pytest.raises(Forbidden) as caught:
            await service.create(frozen("cs1_scope"), key="cs1_scope")
        assert "`write` scope" in caught.value.remedy
        assert caught.value.code == "forbidden"
    async with client(running, running["keys"]["write"]) as service:
        with pytest.raises(Forbidden) as caught:
            await service.estimate(REQUEST)
        assert "`read` scope" in caught.value.remedy


async def test_a_limit_closes_the_gate_until_its_moment(tmp_path):
    options = ("--rate", "1", "--rate-window", "3600", "--time-scale", "1")
    with sandbox(tmp_path, *options) as ready:
        async with client(ready) as service:
            first = await service.create(frozen("cs1_rate1"), key="cs1_rate1")
            with pytest.raises(RateLimited) as caught:
                await service.create(frozen("cs1_rate2"), key="cs1_rate2")
            with pytest.raises(RateLimited) as shut:
                await service.get(first.video_id)
    assert caught.value.retry_at == shut.value.retry_at == service.gate.closed_until
    assert (caught.value.status, shut.value.status) == (429, None)
