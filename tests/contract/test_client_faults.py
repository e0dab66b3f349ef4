"""What goes wrong between client and sandbox: whatever it is, nothing is paid for twice."""

from __future__ import annotations

import pytest

from callsheet.tasks.runtime.errors import OutcomeUnknown, ShapeError
from callsheet.tasks.service import operations as ops
from callsheet.tasks.values.briefs import canonical_json
from tests.contract.sandboxes import (
    CLIPS,
    anyone,
    clear_faults,
    finished,
    made,
    new_key,
    plan_fault,
)
from tests.unit.service.asked import subscribe

#: Faults after which the request was, or may have been, carried out.
LOST = {
    "drop-after": {},
    "reset-after": {},
    "error-after": {"status": 503},
    "html": {"status": 200},
    "xml": {"status": 200},
    "empty": {},
    "not-json": {},
    "shapeless": {},
    "cut-body": {"framing": "length"},
    "reset-midway": {},
    "truncated": {"framing": "length"},
}
#: Faults before which nothing was carried out, though the client cannot always tell.
BEFORE = {"drop-before": {}, "reset-before": {}, "error-before": {"status": 502}}


@pytest.fixture
def faulty(running):
    yield running
    clear_faults(running)


def charges(ready) -> list[dict]:
    return list(anyone.get(f"{ready['auth_url']}/_sandbox/charges").json())


def calls(ready, operation: str) -> int:
    return int(anyone.get(f"{ready['auth_url']}/_sandbox/calls").json().get(operation, 0))


@pytest.mark.parametrize("do", [*LOST, *BEFORE])
async def test_a_keyed_create_ends_with_one_video_and_one_charge(service, faulty, do):
    key = new_key()
    plan_fault(faulty, "create", do, **(LOST | BEFORE)[do])
    created = await made(service, key)
    await finished(service, created.video_id)
    paid = [one for one in charges(faulty) if one["idempotency_key"] == key]
    assert [one["event"] for one in paid] == ["reserve", "charge"]
    assert {one["video_id"] for one in paid} == {created.video_id}


@pytest.mark.parametrize("do", [*LOST, *BEFORE])
async def test_a_clip_without_a_key_is_sent_once_and_told_as_unknown(service, faulty, do):
    body = canonical_json(CLIPS["image-to-video"] | {"title": new_key()})
    before = calls(faulty, "image-to-video")
    plan_fault(faulty, "image-to-video", do, **(LOST | BEFORE)[do])
    with pytest.raises(OutcomeUnknown) as caught:
        await service.make("image-to-video", body, key=None)
    assert caught.value.attempts == 1
    assert calls(faulty, "image-to-video") - before <= 1


@pytest.mark.parametrize(
    ("operation", "ask"),
    [
        ("generate", lambda s, video_id: s.ask(ops.GENERATE, video_id)),
        ("export", lambda s, video_id: s.ask(ops.RENDER, video_id, {})),
        ("scene", lambda s, video_id: s.ask(ops.SCENE, video_id, {}, scene=1)),
        ("voice", lambda s, video_id: s.ask(ops.VOICE, video_id, {"voice_id": "v"})),
        ("webhooks_create", lambda s, _: subscribe(s, "http://127.0.0.1:9/")),
    ],
)
async def test_what_is_sent_once_and_lost_was_made_once(service, faulty, operation, ask):
    video_id = (await made(service, new_key())).video_id
    await finished(service, video_id)
    before = calls(faulty, operation)
    plan_fault(faulty, operation, "drop-after")
    with pytest.raises(OutcomeUnknown) as caught:
        await ask(service, video_id)
    assert caught.value.attempts == 1
    assert calls(faulty, operation) == before + 1
    for hook in await service.ask(ops.LIST_WEBHOOKS):
        await service.ask(ops.DELETE_WEBHOOK, hook.id)


@pytest.mark.parametrize("do", [do for do in (*LOST, *BEFORE) if do != "shapeless"])
async def test_a_read_gets_its_answer_in_the_end(service, faulty, do):
    video_id = (await made(service, new_key())).video_id
    plan_fault(faulty, "get", do, **(LOST | BEFORE)[do])
    assert (await service.get(video_id)).id == video_id


async def test_a_whole_answer_that_says_nothing_is_not_asked_for_again(service, faulty):
    video_id = (await made(service, new_key())).video_id
    await finished(service, video_id)
    plan_fault(faulty, "download", "shapeless")
    with pytest.raises(ShapeError) as caught:
        await service.download(video_id)
    assert caught.value.attempts == 1


@pytest.mark.parametrize("do", ["gzip", "no-length", "drip", "slow", "close-idle"])
async def test_an_answer_that_is_whole_after_all_is_read(service, faulty, do):
    members = {"seconds": 0.2} if do == "slow" else {}
    members |= {"seconds": 0.001, "bytes": 16} if do == "drip" else {}
    plan_fault(faulty, "create", do, **members)
    assert (await made(service, new_key())).video_id
