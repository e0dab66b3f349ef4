"""What the client does where the specification is silent: a hole costs time or a question, never
a second charge. One test for each; `holes.py` has the list, and where the others are tested."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import httpx
import pytest

from callsheet.deployments.direct.body import body_of
from callsheet.tasks.runtime.errors import (
    BadInput,
    BadRequest,
    Conflict,
    InsufficientCredits,
    NotFound,
    OtherRefusal,
    OutcomeUnknown,
    RateLimited,
    ServerTrouble,
    ShapeError,
    Unauthenticated,
)
from callsheet.tasks.service import Money
from callsheet.tasks.service import operations as ops
from callsheet.tasks.values.requests import ImageToVideo
from tests.named_tests import ROOT, missing
from tests.unit.service.asked import ASKED, TABLE, subscribe
from tests.unit.service.holes import HOLES

KEY = "cs1_k"
BODY = b'{"idempotency_key":"cs1_k","topic":"x"}'
MADE = (202, {"data": {"id": "vid_1"}, "error": None, "meta": {}})
BUSY = (409, {"data": None, "error": {"message": "busy", "retryable": True}, "meta": {}})


def refusal(status, retryable=False, **members):
    error = {"message": "no", "code": "any", "retryable": retryable} | members
    return status, {"data": None, "error": error, "meta": {}}


def test_every_hole_is_tested_somewhere():
    assert sorted(HOLES) == list(range(1, 69))
    assert missing(test for hole in HOLES.values() for test in hole.tests) == []
    assert [number for number, hole in HOLES.items() if not hole.tests and not hole.by] == []


def test_every_test_of_this_file_belongs_to_a_hole():
    here = {test.rpartition("::")[2] for hole in HOLES.values() for test in hole.tests}
    tests = {name for name in globals() if name.startswith("test_") and "every" not in name}
    assert tests - here == set()


async def test_fields_of_a_video(talk):
    odd = {"id": "vid_1", "status": 7, "title": None, "new": {"deep": [1]}, "poll_after": "soon"}
    service, _ = talk((200, {"data": odd, "error": None, "meta": {}}))
    video = await service.get("vid_1")
    assert (video.id, video.status, video.poll_after, video.charged) == ("vid_1", None, None, None)
    assert video.raw == odd


@pytest.mark.parametrize("word", ["generating", "draft", "completed", "marinating", "ÉTAT 7"])
async def test_names_of_states(talk, word):
    service, _ = talk((200, {"id": "vid_1", "status": word}))
    assert (await service.get("vid_1")).status == word


@pytest.mark.parametrize("wrap", [lambda d: d, lambda d: {"data": d, "error": None, "meta": {}}])
async def test_envelope_of_a_success(talk, wrap):
    service, _ = talk((202, wrap({"id": "vid_1"})), (200, wrap({"credits": 3})))
    assert (await service.create(BODY, key=KEY)).video_id == "vid_1"
    assert (await service.estimate({})).amount == 3


@pytest.mark.parametrize(
    "data", [{"id": "vid_1"}, {"video_id": "vid_1"}, {"result": {"new": "vid_1"}}]
)
async def test_name_of_the_id_of_a_new_video(talk, data):
    service, seen = talk((202, {}), (202, data))
    assert (await service.create(BODY, key=KEY)).video_id == "vid_1"
    assert [request.content for request in seen] == [BODY, BODY]


@pytest.mark.parametrize(("hint", "read"), [(0, 0), (1e9, 1e9), (-5, None), ("x", None)])
async def test_range_of_the_polling_hint(talk, hint, read):
    service, _ = talk((200, {"id": "vid_1", "poll_after_seconds": hint}))
    assert (await service.get("vid_1")).poll_after == read


async def test_required_fields_and_bounds_of_a_create_are_left_to_the_service(talk):
    odd = b'{"duration_seconds":99999,"idempotency_key":"cs1_k","language":"tlh"}'
    service, seen = talk(refusal(400))
    with pytest.raises(BadRequest):
        await service.create(odd, key=KEY)
    assert [request.content for request in seen] == [odd]


async def test_a_key_with_another_body(talk):
    service, seen = talk(MADE)
    with pytest.raises(ValueError, match="idempotency key"):
        await service.create(BODY.replace(b"cs1_k", b"cs1_j"), key=KEY)
    assert not seen
    held = talk(refusal(422, code="idempotency_key_reuse"))
    with pytest.raises(OtherRefusal) as caught:
        await held[0].create(BODY, key=KEY)
    assert len(held[1]) == 1
    assert "nothing is sent again under another key" in caught.value.remedy


@pytest.mark.parametrize("status", [400, 402])
async def test_refusals_kept_under_a_key(talk, status):
    service, seen = talk(refusal(status), MADE)
    with pytest.raises((BadRequest, InsufficientCredits)) as caught:
        await service.create(BODY, key=KEY)
    assert (len(seen), caught.value.sent, caught.value.key) == (1, "yes", KEY)
    assert (await service.create(BODY, key=KEY)).video_id == "vid_1"


@pytest.mark.parametrize("status", [200, 201, 202])
async def test_status_of_a_replay(talk, status):
    service, _ = talk((status, {"id": "vid_1"}))
    assert (await service.create(BODY, key=KEY)).video_id == "vid_1"


async def test_generating_a_finished_video_again(talk):
    service, seen = talk((500, {}), (202, {}))
    with pytest.raises(OutcomeUnknown):
        await service.ask(ops.GENERATE, "vid_1")
    assert len(seen) == 1


@pytest.mark.parametrize("name", ["image-to-video", "talking-avatar", "character-swap"])
async def test_bodies_of_clips(talk, name):
    odd = b'{ "whatever": ["they", "want"] }'
    service, seen = talk((500, {}))
    with pytest.raises(OutcomeUnknown):
        await service.make(name, odd, key=None)
    assert [request.content for request in seen] == [odd]


async def test_bodies_of_remakes_and_reports(talk):
    odd = {"whatever": ["they", "want"]}
    service, seen = talk((202, {"url": "https://s.test/1"}))
    await service.ask(ops.RENDER, "vid_1", odd)
    await service.ask(ops.SCENE, "vid_1", odd, scene=1)
    await service.ask(ops.VOICE, "vid_1", odd)
    await service.ask(ops.SHARE, "vid_1", odd)
    await service.ask(ops.REPORT, "vid_1", odd)
    await service.ask(ops.EDIT, "vid_1", odd)
    assert [json.loads(request.content) for request in seen] == [odd] * 6


@pytest.mark.parametrize("shape", [[], {}, [{"n": 1}], {"percent": 3}, "half way", None])
async def test_shape_of_renders_and_progress(talk, shape):
    service, _ = talk((200, {"data": shape, "error": None, "meta": {}}))
    for operation in (ops.RENDERS, ops.RENDER_PROGRESS, ops.VOICE_PROGRESS):
        assert await service.ask(operation, "vid_1") == shape


async def test_shape_of_a_script(talk):
    service, seen = talk((200, {"credits": 1}))
    script = {"acts": [{"lines": [{"deep": ["é", None, 1.5]}]}]}
    await service.estimate({"script": script})
    assert json.loads(seen[0].content)["script"] == script


async def test_shape_and_unit_of_a_quote(talk):
    answer = (200, {"lines": [{"cr": "12.5"}], "total": "a dozen"})
    at_a_loss, _ = talk(answer)
    assert (await at_a_loss.estimate({})).amount is None


async def test_body_of_an_estimate(talk):
    service, seen = talk((200, {"credits": 1}))
    await service.estimate({"topic": "x", "idempotency_key": "k", "start_generation": False})
    assert json.loads(seen[0].content) == {"topic": "x"}


@pytest.mark.parametrize("told", ["30", "30.0", "Thu, 01 Jan 2026 00:00:30 GMT"])
async def test_form_of_retry_after(talk, time, told):
    headers = {"retry-after": told, "date": "Thu, 01 Jan 2026 00:00:00 GMT"}
    service, _ = talk((429, {}, headers), MADE)
    await service.create(BODY, key=KEY)
    assert time.slept == [30]


@pytest.mark.parametrize("name", ASKED)
async def test_limits_on_other_operations(talk, time, name):
    service, seen = talk((429, {}, {"retry-after": "7200"}))
    with pytest.raises(RateLimited) as caught:
        await ASKED[name].call(service)
    assert caught.value.retry_at == service.gate.closed_until == time.now + timedelta(hours=2)
    assert len(seen) == 1


@pytest.mark.parametrize("name", ASKED)
async def test_trouble_of_the_service(talk, name):
    service, seen = talk((500, {}))
    money = TABLE[name][3]
    with pytest.raises(ServerTrouble if money is Money.READ else OutcomeUnknown):
        await ASKED[name].call(service)
    assert len(seen) == (1 if money is Money.ONCE else 3)


@pytest.mark.parametrize("code", ["", "not_ready", "forbidden", "whatever", None, 7])
async def test_error_codes(talk, code):
    service, _ = talk(refusal(409, code=code), refusal(401, code=code))
    with pytest.raises(Conflict):
        await service.download("vid_1")
    with pytest.raises(Unauthenticated):
        await service.get("vid_1")


@pytest.mark.parametrize("value", [None, "yes", 1, [], "absent"])
async def test_retryable_that_is_missing_or_odd(talk, value):
    members = {} if value == "absent" else {"retryable": value}
    service, seen = talk((500, {"error": members}), MADE)
    assert (await service.create(BODY, key=KEY)).video_id == "vid_1"
    assert len(seen) == 2


async def test_a_claim_to_be_retryable_makes_nothing_be_paid_twice(talk):
    service, seen = talk(refusal(500, retryable=True))
    with pytest.raises(OutcomeUnknown):
        await service.ask(ops.GENERATE, "vid_1")
    assert len(seen) == 1


@pytest.mark.parametrize("status", [400, 404])
async def test_errors_that_are_not_json(talk, status):
    page = b"<html><head><title>Not here</title></head>" + b"x" * 10_000
    service, seen = talk((status, page, {"content-type": "text/html"}))
    with pytest.raises((BadRequest, NotFound), match='an HTML page: "Not here"') as caught:
        await service.get("vid_1")
    assert len(seen) == 1
    assert len(str(caught.value)) < 560


@pytest.mark.parametrize(
    ("body", "headers"),
    [({"meta": {"request_id": "r1"}}, {}), ({}, {"x-request-id": "r1"}), ({}, {"cf-ray": "r1"})],
)
@pytest.mark.parametrize("status", [200, 404])
async def test_the_name_of_a_request(talk, body, headers, status):
    told = []
    service, _ = talk((status, body, headers), on_request=told.append)
    if status == 404:
        with pytest.raises(NotFound) as caught:
            await service.get("vid_1")
        assert caught.value.request_id == "r1"
    else:
        await service.get("vid_1")
    assert [attempt.request_id for attempt in told] == ["r1"]


async def test_shape_and_pages_of_a_list(talk):
    service, _ = talk(
        (200, {"results": [{"id": "vid_1"}, {"odd": 1}], "next": "two"}),
        (200, [{"video_id": "vid_2"}]),
        (200, {}),
    )
    assert [video.id async for video in service.list_videos()] == ["vid_1", "vid_2"]
    with pytest.raises(ShapeError):
        [video async for video in service.list_videos()]


@pytest.mark.parametrize(
    ("data", "url"),
    [
        ({"download_url": "https://f.test/1"}, "https://f.test/1"),
        ({"mp4": {"signed": "https://f.test/1"}}, "https://f.test/1"),
        ({"a": "https://f.test/1", "b": "https://f.test/2"}, None),
    ],
)
async def test_name_of_the_signed_address(talk, data, url):
    service, _ = talk((200, data))
    if url is None:
        with pytest.raises(ShapeError):
            await service.download("vid_1")
    else:
        assert (await service.download("vid_1")).url == url


async def test_default_format_of_captions(talk):
    service, seen = talk((200, b"WEBVTT"))
    await service.captions("vid_1", "vtt")
    await service.captions("vid_1", "srt")
    assert [request.url.params["format"] for request in seen] == ["vtt", "srt"]


async def test_captions_that_may_come_later(talk, time):
    service, seen = talk(refusal(400), (200, b"WEBVTT"))
    with pytest.raises(BadRequest):
        await service.captions("vid_1", "vtt")
    assert (len(seen), time.slept) == (1, [])
    assert await service.captions("vid_1", "vtt") == b"WEBVTT"


async def test_charset_of_captions(talk):
    raw = b"\xff\xfeW\x00E\x00B\x00"
    service, _ = talk((200, raw, {"content-type": "text/vtt; charset=utf-16"}))
    assert await service.captions("vid_1", "vtt") == raw


async def test_state_after_a_cancel(talk):
    service, seen = talk((200, {"status": "stopping"}), (204, b""), BUSY)
    video = await service.cancel("vid_1")
    assert video is not None
    assert video.status == "stopping"
    assert await service.cancel("vid_1") is None
    with pytest.raises(Conflict):
        await service.cancel("vid_1")
    assert len(seen) == 3


def test_deleting_what_is_generating():
    # It is never done by itself: only a person's own word deletes a video.
    files = [path for door in ("flows", "tasks") for path in (ROOT / door).rglob("*.py")]
    assert len(files) > 50
    named = [str(path) for path in files if re.search(r"ops\.DELETE\b", path.read_text())]
    assert named == []


async def test_event_kinds(talk):
    hook = {"id": "wh_1", "events": ["video.ready", "video.gone"]}
    service, seen = talk((201, hook))
    made = await subscribe(service, "https://r.test/h")
    assert json.loads(seen[0].content)["events"] == ["video.ready"]
    assert made.events == ("video.ready", "video.gone")


async def test_fields_of_a_delivery_attempt(talk):
    service, _ = talk((200, {"attempts": [{"odd": 1}, None, "text"]}))
    assert await service.ask(ops.DELIVERIES, "wh_1") == [{"odd": 1}, None, "text"]


async def test_a_webhook_secret_is_not_shown_again(talk):
    service, _ = talk((201, {"id": "wh_1", "secret": "s3cr3t-once"}), (200, {"id": "wh_1"}))
    assert (
        await service.ask(ops.CREATE_WEBHOOK, body={"url": "https://r.test/h", "events": []})
    ).secret == "s3cr3t-once"
    assert (await service.ask(ops.GET_WEBHOOK, "wh_1")).secret is None


async def test_number_of_scenes(talk):
    service, seen = talk((202, {}))
    await service.ask(ops.SCENE, "vid_1", scene=99999)
    assert seen[0].url.path.endswith("/scenes/99999/regenerate")
    with pytest.raises(BadInput):
        await service.ask(ops.SCENE, "vid_1", scene=0)


async def test_what_becomes_of_this_version(talk):
    moved = (410, {"error": {"message": "v1 has ended"}})
    service, seen = talk(moved)
    with pytest.raises(OtherRefusal, match="v1 has ended") as caught:
        await service.create(BODY, key=KEY)
    assert (len(seen), caught.value.permanent) == (1, True)
    assert seen[0].url.path == "/api/v1/videos"


@pytest.mark.parametrize("image", ["https://f.test/a.png", "upload_7", "data:image/png;base64,AA"])
def test_form_of_an_image(image):
    assert body_of(ImageToVideo, image=image)["image"] == image


@pytest.mark.parametrize("name", ["image-to-video", "talking-avatar", "character-swap"])
async def test_keys_on_clips(talk, name):
    lost = httpx.ReadTimeout("slow")
    service, seen = talk(lost, MADE)
    with pytest.raises(OutcomeUnknown):
        await service.make(name, b'{"image":"i"}', key=None)
    assert len(seen) == 1
    keyed, seen = talk(lost, MADE)
    assert (await keyed.make(name, BODY, key=KEY)).video_id == "vid_1"
    assert [request.content for request in seen] == [BODY, BODY]


async def test_two_at_work_under_one_key(talk, time):
    service, seen = talk(BUSY, BUSY, MADE)
    assert (await service.create(BODY, key=KEY)).video_id == "vid_1"
    assert [request.content for request in seen] == [BODY] * 3
    assert time.slept == [2, 4]
