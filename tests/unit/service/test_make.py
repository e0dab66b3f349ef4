"""Making a video by the name of its operation, with an idempotency key and without one."""

from __future__ import annotations

import httpx
import pytest

from callsheet.tasks.runtime.errors import BadInput, OutcomeUnknown
from callsheet.tasks.service import MAKING

MADE = (202, {"data": {"id": "vid_1", "status": "generating", "poll_after_seconds": 9}})
KEYED = b'{ "clip": "https://f.test/c.mp4",\n"idempotency_key":"cs1_k" }'
PLAIN = b'{ "clip" :"https://f.test/c.mp4"}'
clips = pytest.mark.parametrize("name", ["image-to-video", "talking-avatar", "character-swap"])


@pytest.mark.parametrize(
    "name", ["generate", "render", "create webhook", "list", "", "image_to_video"]
)
async def test_what_makes_no_video_is_refused_with_what_does(talk, name):
    service, seen = talk(MADE)
    with pytest.raises(BadInput, match="create, image-to-video, talking-avatar, character-swap"):
        await service.make(name, KEYED, key="cs1_k")
    assert not seen


@clips
@pytest.mark.parametrize("lost", [(500, {}), httpx.ReadTimeout("slow"), (202, {}), (202, b'{"')])
async def test_a_clip_with_a_key_is_asked_for_again_with_the_same_bytes(talk, name, lost):
    service, seen = talk(lost, lost, MADE)
    made = await service.make(name, KEYED, key="cs1_k")
    assert (made.video_id, made.poll_after) == ("vid_1", 9)
    assert [request.content for request in seen] == [KEYED] * 3
    assert {request.url.path for request in seen} == {f"/api/v1/videos/{name}"}


@clips
async def test_a_key_makes_no_difference_to_the_same_clip_made_later_without_one(talk, name):
    service, seen = talk((409, {}), MADE, (500, {}))
    await service.make(name, KEYED, key="cs1_k")
    with pytest.raises(OutcomeUnknown):
        await service.make(name, PLAIN, key=None)
    assert [request.content for request in seen] == [KEYED, KEYED, PLAIN]


@pytest.mark.parametrize("name", MAKING)
@pytest.mark.parametrize(("body", "key"), [(PLAIN, "cs1_k"), (KEYED, ""), (KEYED, "cs1_other")])
async def test_a_body_that_lacks_its_key_does_not_leave(talk, name, body, key):
    service, seen = talk(MADE)
    with pytest.raises(ValueError, match="idempotency key"):
        await service.make(name, body, key=key)
    with pytest.raises(ValueError, match="idempotency key"):
        await service.make("create", PLAIN, key=None)
    assert not seen
