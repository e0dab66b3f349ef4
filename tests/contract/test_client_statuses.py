"""Every status of the specification's tables, as the client meets it on the sandbox."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from callsheet.tasks.runtime import errors
from callsheet.tasks.service import OPERATIONS
from callsheet.tasks.service import operations as ops
from callsheet.tasks.values.briefs import canonical_json
from tests.contract.sandboxes import CLIPS, client, endless, frozen, made, new_key
from tests.unit.service.asked import ASKED

#: What can be asked of one video or webhook.
OF_ONE = {operation.name: operation for operation in OPERATIONS if "{id}" in operation.path}


@pytest.fixture
def poor(running_with):
    """A sandbox without a credit."""
    return running_with("--time-scale", "600", "--credits", "0")


@pytest.mark.parametrize("name", OF_ONE)
async def test_404_what_is_not_there(service, name):
    operation, asked = OF_ONE[name], ASKED[name]
    named, scene = f"{asked.ids[0]}nowhere", 1 if "{n}" in operation.path else None
    with pytest.raises(errors.NotFound) as caught:
        await service.ask(operation, named, asked.body, scene=scene, query=asked.query)
    assert (caught.value.status, caught.value.permanent, caught.value.attempts) == (404, True, 1)
    assert caught.value.request_id


@pytest.mark.parametrize(
    "bad",
    [
        {"aspect_ratio": "4:5"},
        {"mode": "dancing"},
        {"style": "hybrid"},
        {"script": {}},
        {"tool": "no-such-tool"},
        {"duration_seconds": "long"},
    ],
)
async def test_400_a_brief_or_script_that_is_not_one(service, bad):
    key = new_key()
    with pytest.raises(errors.BadRequest) as caught:
        await service.create(frozen(key, **bad), key=key)
    assert (caught.value.status, caught.value.permanent, caught.value.attempts) == (400, True, 1)


async def test_400_captions_before_there_is_caption_data(service):
    created = await made(service, new_key(), start_generation=False)
    with pytest.raises(errors.BadRequest, match="yet"):
        await service.captions(created.video_id, "srt")


async def test_402_a_create_without_credits(poor):
    key = new_key()
    async with client(poor) as service:
        with pytest.raises(errors.InsufficientCredits) as caught:
            await made(service, key)
    assert (caught.value.status, caught.value.key, caught.value.attempts) == (402, key, 1)


@pytest.mark.parametrize("name", CLIPS)
async def test_402_a_clip_without_credits(poor, name):
    async with client(poor) as service:
        with pytest.raises(errors.InsufficientCredits):
            await service.make(name, canonical_json(CLIPS[name]), key=None)


async def test_409_generating_what_is_generating(service, running):
    video_id = await endless(service, running)
    with pytest.raises(errors.Conflict, match="already generating"):
        await service.ask(ops.GENERATE, video_id)
    await service.cancel(video_id)


async def test_429_the_rate_limit_names_its_moment(running_with):
    options = ("--rate", "1", "--rate-window", "3600", "--retry-after", "date")
    async with client(running_with("--time-scale", "1", *options)) as service:
        await made(service, new_key())
        await _is_limited(service)


async def test_429_the_spend_limit_names_its_moment(running_with):
    options = ("--spend-limit", "20", "--spend-window", "3600")
    async with client(running_with("--time-scale", "1", *options)) as service:
        await made(service, new_key())
        await _is_limited(service)


async def _is_limited(service):
    with pytest.raises(errors.RateLimited) as caught:
        await made(service, new_key())
    left = (caught.value.retry_at - datetime.now(UTC)).total_seconds()
    # A date has whole seconds, on both sides.
    assert 3000 < left <= 3605
    assert not caught.value.permanent
    # Until then nothing is sent any more.
    with pytest.raises(errors.RateLimited) as shut:
        await service.get("vid_1")
    assert (caught.value.status, shut.value.status) == (429, None)
    assert caught.value.retry_at == shut.value.retry_at == service.gate.closed_until
