"""Every operation whose answer has a shape of its own, in each shape it may come in."""

from __future__ import annotations

import asyncio
import uuid

import httpx
import pytest

from callsheet.tasks.runtime.errors import Conflict, NotFound
from callsheet.tasks.service import operations as ops
from callsheet.tasks.values.briefs import canonical_json
from callsheet.tasks.values.catalog import PARTS, Catalogue
from tests.contract.sandboxes import CLIPS, REQUEST, endless, finished, made, new_key, plan_fault


async def at(url: str) -> bytes:
    """Return what is at an address, for somebody without a key."""
    async with httpx.AsyncClient(verify=False) as anyone:
        answer = await anyone.get(url, follow_redirects=True)
    assert answer.status_code == 200
    return answer.content


async def test_a_video_from_create_to_download(spoken):
    quote = await spoken.estimate(REQUEST)
    created = await made(spoken, new_key())
    assert created.video_id.startswith("vid_")
    assert created.status == "generating"
    assert created.poll_after is not None
    url = await finished(spoken, created.video_id)
    assert (await at(url))[4:8] == b"ftyp"
    seen = await spoken.get(created.video_id)
    assert seen.id == created.video_id
    assert seen.status not in (None, "generating", "draft")
    assert seen.charged == quote.amount


async def test_captions(spoken):
    created = await made(spoken, new_key())
    await finished(spoken, created.video_id)
    assert (await spoken.captions(created.video_id, "vtt")).startswith(b"WEBVTT")
    assert b"1\n00:00:00,000 --> " in await spoken.captions(created.video_id, "srt")


async def test_the_list_over_its_pages(spoken):
    calls = (made(spoken, new_key()) for _ in range(22))
    ids = [created.video_id for created in await asyncio.gather(*calls)]
    listed = [video async for video in spoken.list_videos()]
    assert set(ids) <= {video.id for video in listed}
    assert len({video.id for video in listed}) == len(listed)
    assert all(video.status for video in listed)


async def test_cancelling(spoken, speaking):
    plan_fault(speaking, "render", "never")
    created = await made(spoken, new_key())
    with pytest.raises(Conflict, match="not ready"):
        await spoken.download(created.video_id)
    await spoken.cancel(created.video_id)
    assert (await spoken.get(created.video_id)).status not in (None, "generating")
    with pytest.raises(Conflict, match="no render is running"):
        await spoken.cancel(created.video_id)


async def test_editing_and_deleting(spoken):
    created = await made(spoken, new_key(), start_generation=False)
    assert created.status == "draft"
    edited = await spoken.ask(ops.EDIT, created.video_id, {"title": "Fyren på ön"})
    assert (edited.id, edited.status) == (created.video_id, "draft")
    await spoken.ask(ops.DELETE, created.video_id)
    with pytest.raises(NotFound):
        await spoken.get(created.video_id)


async def test_remakes_of_a_video(spoken):
    video_id = (await made(spoken, new_key())).video_id
    first = await at(await finished(spoken, video_id))
    for remake in (
        lambda: spoken.ask(ops.SCENE, video_id, {"narration": "The sea is calm."}, scene=2),
        lambda: spoken.ask(ops.VOICE, video_id, {"voice_id": "another"}),
        lambda: spoken.ask(ops.RENDER, video_id, {}),
        lambda: spoken.ask(ops.GENERATE, video_id),
    ):
        before = await spoken.renders(video_id)
        started = await remake()
        assert started.video_id == video_id
        await finished(spoken, video_id)
        assert await spoken.renders(video_id) != before
    assert await spoken.ask(ops.RENDER_PROGRESS, video_id) is not None
    assert await spoken.ask(ops.VOICE_PROGRESS, video_id) is not None
    assert (await at(await finished(spoken, video_id)))[4:8] == first[4:8]


async def test_a_share_link_needs_no_key(spoken):
    created = await made(spoken, new_key())
    await finished(spoken, created.video_id)
    link = await spoken.ask(ops.SHARE, created.video_id)
    assert (await at(link.url))[4:8] == b"ftyp"


@pytest.mark.parametrize("name", CLIPS)
async def test_clips(spoken, name):
    created = await spoken.make(name, canonical_json(CLIPS[name]), key=None)
    assert created.video_id.startswith("vid_")
    assert (await at(await finished(spoken, created.video_id)))[4:8] == b"ftyp"
    assert created.video_id in [video.id async for video in spoken.list_videos()]


async def test_the_catalogue(spoken):
    body = {part: await getattr(spoken, part)() for part in PARTS}
    told = Catalogue(base_url="", told_at=0.0, body=body)
    explainer = told.tool("explainer")

    assert len(told.tools) == 5
    assert (explainer.name, explainer.words) == ("Explainer", "A question and its answer")
    assert list(explainer.fields) == ["subject", "product", "question", "key_points", "audience"]
    assert explainer.fields["question"].words == "The question it answers"
    assert told.characters == {"1": "Ada", "2": "Bruno", "3": "Chioma"}
    assert len(told.body["templates"]) == 3


async def test_the_credits_that_are_left(spoken, speaking):
    before, quote = await spoken.credits(), await spoken.estimate(REQUEST)
    await endless(spoken, speaking)
    assert before - await spoken.credits() == quote.amount


async def test_the_life_of_a_subscription(spoken):
    here = f"http://127.0.0.1:9/{uuid.uuid4().hex}"
    hook = await spoken.ask(
        ops.CREATE_WEBHOOK, body={"url": here, "events": ["video.ready"], "name": "ours"}
    )
    assert hook.id.startswith("wh_")
    assert hook.secret
    assert (hook.url, hook.events, hook.name) == (here, ("video.ready",), "ours")
    seen = await spoken.ask(ops.GET_WEBHOOK, hook.id)
    assert (seen.id, seen.url, seen.is_active, seen.secret) == (hook.id, here, True, None)
    assert hook.id in [one.id for one in await spoken.ask(ops.LIST_WEBHOOKS)]
    assert not (await spoken.ask(ops.EDIT_WEBHOOK, hook.id, {"is_active": False})).is_active
    assert (
        await spoken.ask(ops.EDIT_WEBHOOK, hook.id, {"is_active": True, "name": "n"})
    ).name == "n"
    assert await spoken.ask(ops.TEST_WEBHOOK, hook.id) is not None
    assert len(await spoken.ask(ops.DELIVERIES, hook.id)) == 1
    await spoken.ask(ops.DELETE_WEBHOOK, hook.id)
    with pytest.raises(NotFound):
        await spoken.ask(ops.GET_WEBHOOK, hook.id)
