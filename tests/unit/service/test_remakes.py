"""Remakes, edits and what can be taken from a video: the answers whose shape nobody knows."""

from __future__ import annotations

import pytest

from callsheet.tasks.runtime.errors import BadInput, OutcomeUnknown, ShapeError
from callsheet.tasks.service import operations as ops
from tests.unit.service.asked import ASKED

STARTED = {"status": "generating", "poll_after_seconds": 20, "render": 2}
remakes, progress = (
    pytest.mark.parametrize("call", [ASKED[name].call for name in names], ids=names)
    for names in (
        ("generate", "render", "scene", "voice"),
        ("renders", "render progress", "voice progress", "me"),
    )
)


@remakes
@pytest.mark.parametrize("wrap", [lambda d: d, lambda d: {"data": d, "error": None, "meta": {}}])
async def test_a_remake_that_began_says_what_it_says(talk, call, wrap):
    service, _ = talk((202, wrap(STARTED)))
    started = await call(service)
    assert (started.video_id, started.status, started.poll_after) == ("vid_1", "generating", 20)
    assert started.raw == STARTED


@remakes
@pytest.mark.parametrize(
    "answer", [(202, b""), (204, b""), (200, {}), (202, []), (202, {"render_id": "rnd_9"})]
)
async def test_a_success_of_any_shape_is_a_beginning(talk, call, answer):
    service, seen = talk(answer)
    started = await call(service)
    assert (started.video_id, started.status, started.poll_after) == ("vid_1", None, None)
    assert len(seen) == 1


@remakes
@pytest.mark.parametrize("body", [b"{", b"<html>hotel</html>", b"accepted"])
async def test_a_success_that_is_not_the_services_proves_nothing(talk, call, body):
    service, seen = talk((202, body))
    with pytest.raises(OutcomeUnknown):
        await call(service)
    assert len(seen) == 1


@pytest.mark.parametrize("scene", [0, -1])
async def test_scenes_are_counted_from_one(talk, scene):
    service, seen = talk((202, STARTED))
    with pytest.raises(BadInput, match="counted from 1"):
        await service.ask(ops.SCENE, "vid_1", scene=scene)
    assert not seen
    await service.ask(ops.SCENE, "vid_1", scene=99_999)
    assert seen[0].url.path.endswith("/scenes/99999/regenerate")


@progress
@pytest.mark.parametrize("body", [{"percent": 5}, [], None, 7, "half", {"data": 1, "more": 2}])
async def test_progress_is_handed_on_in_whatever_shape(talk, call, body):
    service, _ = talk((200, {"data": body, "error": None, "meta": {}}), (200, body), (204, b""))
    assert [await call(service) for _ in range(3)] == [body, body, None]


@pytest.mark.parametrize("answer", [(200, {"id": "vid_1", "status": "draft"}), (200, {})])
async def test_an_edit_shows_the_video_that_was_asked_for(talk, answer):
    service, seen = talk(answer)
    video = await service.ask(ops.EDIT, "vid_1", {"script": {"scenes": [{"text": "é"}]}})
    assert video.id == "vid_1"
    assert seen[0].content == '{"script":{"scenes":[{"text":"é"}]}}'.encode()


@pytest.mark.parametrize("answer", [(200, b"OK"), (204, b""), (200, [])])
async def test_an_edit_that_shows_nothing_is_an_edit(talk, answer):
    service, _ = talk(answer)
    assert await service.ask(ops.EDIT, "vid_1", {"title": "x"}) is None


@pytest.mark.parametrize("answer", [(200, {"deleted": True}), (200, b"gone"), (204, b"")])
async def test_a_deletion_and_a_report_succeed_whatever_is_said(talk, answer):
    service, seen = talk(answer)
    await service.ask(ops.DELETE, "vid_1")
    await service.ask(ops.REPORT, "vid_1", {"reason": "wrong video"})
    assert [request.method for request in seen] == ["DELETE", "POST"]


@pytest.mark.parametrize(
    "data",
    [
        {"url": "https://s.test/v/abc"},
        {"share_url": "https://s.test/v/abc", "video_url": "https://s.test/other"},
        {"link": "https://s.test/v/abc", "expires_at": "2026-02-01"},
        "https://s.test/v/abc",
    ],
)
async def test_a_share_link_is_found_and_does_not_show_itself(talk, data):
    service, _ = talk((200, {"data": data, "error": None, "meta": {}}))
    link = await service.ask(ops.SHARE, "vid_1")
    assert link.url == "https://s.test/v/abc"
    assert "s.test" not in repr(link)


@pytest.mark.parametrize("method", ["templates", "tools", "characters"])
@pytest.mark.parametrize(
    "body", [[{"id": 1}], {"data": [{"id": 1}], "meta": {}}, {"things": [{"id": 1}], "n": 1}]
)
async def test_a_catalogue_is_a_list_and_one_that_is_none_is_not_an_empty_one(talk, method, body):
    service, _ = talk((200, body), (200, {"data": {}, "error": None, "meta": {}}))
    assert await getattr(service, method)() == [{"id": 1}]
    with pytest.raises(ShapeError):
        await getattr(service, method)()


async def test_a_share_link_that_is_none_may_have_been_made(talk):
    service, seen = talk((200, {"data": {}, "error": None, "meta": {}}))
    with pytest.raises(OutcomeUnknown):
        await service.ask(ops.SHARE, "vid_1")
    assert len(seen) == 1
