"""The states of a video and the moves between them, as the client brings them about."""

from __future__ import annotations

from callsheet.tasks.service import operations as ops
from tests.contract.sandboxes import credits_of, endless, finished, made, new_key


async def test_a_cancelled_render_gives_its_credits_back(service, running):
    before = credits_of(running)["available"]
    video_id = await endless(service, running)
    assert credits_of(running)["available"] < before
    await service.cancel(video_id)
    assert credits_of(running)["available"] == before


async def test_an_edited_script_is_used_by_the_next_generate(service):
    created = await made(service, new_key())
    await finished(service, created.video_id)
    status = (await service.get(created.video_id)).status
    script = {"scenes": [{"text": "Quite another story."}]}
    edited = await service.ask(ops.EDIT, created.video_id, {"script": script})
    assert edited is not None
    assert edited.status == status
    assert b"another story" not in await service.captions(created.video_id, "srt")
    await service.ask(ops.GENERATE, created.video_id)
    await finished(service, created.video_id)
    assert b"another story" in await service.captions(created.video_id, "srt")


async def test_a_draft_is_generated_when_it_is_asked_to_be(service):
    draft = await made(service, new_key(), start_generation=False)
    assert draft.status == "draft"
    started = await service.ask(ops.GENERATE, draft.video_id)
    assert started.status == "generating"
    await finished(service, draft.video_id)


async def test_a_report_changes_nothing(service):
    created = await made(service, new_key())
    await finished(service, created.video_id)
    before = await service.get(created.video_id)
    await service.ask(ops.REPORT, created.video_id, {"reason": "odd"})
    assert (await service.get(created.video_id)).status == before.status


async def test_a_regenerated_scene_leaves_the_others_alone(service):
    video_id = (await made(service, new_key())).video_id
    await finished(service, video_id)
    before = (await service.captions(video_id, "srt")).decode()
    await service.ask(ops.SCENE, video_id, {"narration": "The sea is calm."}, scene=2)
    await finished(service, video_id)
    after = (await service.captions(video_id, "srt")).decode()
    assert "It stands alone." in before
    assert "It stands alone." not in after
    assert "Here is the lighthouse." in after
    assert "The sea is calm." in after
