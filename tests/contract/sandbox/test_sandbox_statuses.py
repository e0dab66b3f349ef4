"""Every operation's statuses: who may call it, what it refuses, and the envelope of it all."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

GOOD = {"tool": "explainer", "duration_seconds": 6}
BAD = [
    ({}, "tool"),
    ({"tool": "explainer", "script": {"text": "Hi"}}, "exactly one"),
    ({"tool": "no-such-tool"}, "product-launch"),
    ({**GOOD, "duration_seconds": 0}, "duration_seconds"),
    ({**GOOD, "duration_seconds": 601}, "duration_seconds"),
    ({**GOOD, "duration_seconds": 8.5}, "duration_seconds"),
    ({**GOOD, "aspect_ratio": "4:5"}, "aspect_ratio"),
    ({**GOOD, "mode": "dancing"}, "mode"),
    ({**GOOD, "style": "hybrid"}, "style"),
    ({**GOOD, "language": "klingon!"}, "language"),
    ({**GOOD, "title": None}, "title"),
    ({**GOOD, "colour": "red"}, "colour"),
    ({**GOOD, "idempotency_key": ""}, "idempotency_key"),
    ({"script": {}}, "script"),
    ({"script": {"scenes": "one"}}, "scenes"),
    ({"script": {"text": "Hi"}, "fields": {"a": 1}}, "fields"),
]


def error_of(answer: httpx.Response) -> dict[str, Any]:
    said = answer.json()
    assert said["data"] is None
    assert said["meta"]["request_id"].startswith("req_")
    assert set(said["error"]) == {"message", "code", "retryable"}
    return dict(said["error"])


def test_refusals_without_a_route_are_enveloped_too_and_other_methods_named(instant):
    assert error_of(instant.client.get("/nowhere"))["code"] == "not_found"
    answer = instant.client.put("/videos/vid_x")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, PATCH")
    assert instant.client.get("/videos/image-to-video").status_code == 405


@pytest.mark.parametrize(("body", "named"), BAD)
@pytest.mark.parametrize("path", ["/videos", "/videos/estimate"])
def test_it_refuses_a_bad_brief_and_names_the_field(instant, path, body, named):
    answer = instant.client.post(path, json=body)
    assert answer.status_code == 400
    assert named in error_of(answer)["message"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"tool": "explainer", "fields": {"a": NaN}}', b'"\\ud800"',
                b'{"tool": "explainer", "title": "\\ud800"}', b"\xff\xff", b'{"tool": 1e999}',
                b'{"a":' * 5000 + b"1" + b"}" * 5000],
    ids=len,
)  # fmt: skip
def test_it_refuses_what_is_not_a_json_object_to_be_kept(instant, content):
    answer = instant.client.post("/videos", content=content)
    assert answer.status_code == 400
    error_of(answer)


def test_it_shows_everything_that_was_asked_for(instant):
    asked = {**GOOD, "title": "Été", "topic": "Spring", "mode": "hybrid", "style": "cinematic",
             "character_id": 7, "voice_id": "v", "music_id": "m", "caption_style": "bold",
             "aspect_ratio": "1:1", "language": "fr-CA", "video_model": "x",
             "idempotency_key": "shown"}  # fmt: skip
    shown = instant.get(instant.create(**asked))
    assert asked.items() <= shown.items()


def test_it_says_how_long_to_wait(slow):
    said = slow.post("/videos", **GOOD).json()
    assert (said["error"], said["data"]["status"]) == (None, "generating")
    assert said["meta"]["request_id"].startswith("req_")
    assert 60 < said["data"]["poll_after_seconds"] < 400
    assert slow.get(said["data"]["id"])["progress"] < 10


def test_it_pages_through_the_list_newest_first(instant):
    made = [instant.create(title=f"page {n}") for n in range(5)]
    seen: list[str] = []
    cursor = None
    while len(seen) < 5:
        query = {"limit": 2} if cursor is None else {"limit": 2, "cursor": cursor}
        page = instant.client.get("/videos", params=query).json()["data"]
        assert len(page["videos"]) == 2
        seen += [one["id"] for one in page["videos"]]
        cursor = page["next_cursor"]
    assert seen[:5] == made[::-1]


def test_it_lists_one_status_alone_and_refuses_a_page_that_cannot_be(slow):
    kept = slow.create(start_generation=False)
    slow.create()
    drafts = slow.client.get("/videos", params={"status": "draft", "colour": "red"}).json()["data"]
    assert kept in [one["id"] for one in drafts["videos"]]
    assert {one["status"] for one in drafts["videos"]} == {"draft"}
    for query in ("limit=0", "limit=x", "limit=101", "cursor=zzz", "cursor=v-1", "status=lost"):
        assert slow.client.get(f"/videos?{query}").status_code == 400


def test_every_key_may_ask_whose_it_is(instant, anyone):
    for scope, key in instant.ready["keys"].items():
        headers = {"authorization": f"Bearer {key}"}
        said = instant.client.get("/me", headers=headers).json()["data"]
        assert said["key"]["scopes"] == [scope]
        assert said["organization"]["id"]
        assert key not in str(said)
    assert anyone.get(f"{instant.ready['base_url']}/me").status_code == 401


def test_a_template_is_a_request_that_can_be_made(instant):
    templates = instant.client.get("/templates").json()["data"]["templates"]
    assert templates
    for template in templates:
        quoted = instant.client.post("/videos/estimate", json=template["request"])
        assert quoted.status_code == 200
