"""Faults that leave the connection alone and spoil what is said on it."""

from __future__ import annotations

import contextlib
import secrets
import time
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pytest

from tests.contract.sandbox.wire import Line


def create(running: Any, key: str | None = None) -> httpx.Response:
    key = key or f"answer_{secrets.token_hex(6)}"
    said = {"tool": "explainer", "duration_seconds": 5, "idempotency_key": key}
    answer: httpx.Response = running.client.post("/videos", json=said)
    answer.extensions["acted"] = any(one["idempotency_key"] == key for one in running.charges())
    return answer


REFUSALS: list[tuple[str, dict[str, Any], int, str, bool, bool]] = [
    ("error-before", {}, 500, "planned_fault", True, False),
    ("error-before", {"status": 503, "retryable": False}, 503, "planned_fault", False, False),
    ("error-after", {"status": 504, "code": "upstream"}, 504, "upstream", True, True),
    ("status", {"status": 422, "code": "idempotency_key_reuse"}, 422, "idempotency_key_reuse",
     False, False),
    ("unauthorized", {}, 401, "unauthorized", False, False),
    ("no-credits", {}, 402, "insufficient_credits", False, False),
    ("forbidden", {}, 403, "forbidden", False, False),
    ("conflict", {"retryable": True}, 409, "conflict", True, False),
    ("limited", {"message": "Slower."}, 429, "rate_limited", False, False),
]  # fmt: skip


@pytest.mark.parametrize(("do", "told", "status", "code", "retryable", "acts"), REFUSALS)
def test_it_refuses_in_the_envelope(instant, plan, do, told, status, code, retryable, acts):
    plan("create", do, **told)
    answer = create(instant)
    said = answer.json()
    assert answer.status_code == status
    assert said["data"] is None
    assert (said["error"]["code"], said["error"]["retryable"]) == (code, retryable)
    assert said["error"]["message"] == told.get("message", said["error"]["message"])
    assert answer.extensions["acted"] is acts
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize("said", [7, 0.5, -3, 10**9, "soon"])
@pytest.mark.parametrize("do", ["limited", "error-before"])
def test_it_says_when_to_come_back_as_it_is_told(instant, plan, do, said):
    plan("create", do, retry_after=said)
    assert create(instant).headers["retry-after"] == str(said)


def test_it_says_when_to_come_back_as_a_date(instant, plan):
    plan("create", "limited", retry_after_date=3600)
    moment = parsedate_to_datetime(create(instant).headers["retry-after"])
    assert abs(moment.timestamp() - time.time() - 3600) < 300


def test_its_clock_may_be_wrong(instant, plan):
    plan("create", "limited", retry_after_date=60, clock_skew=86400)
    with Line(instant.ready) as line:
        line.ask("POST", "/api/v1/videos", {"tool": "explainer"})
        heard = line.hear()
    dates = [one for one in heard.head.split("\r\n") if one.startswith("date: ")]
    assert len(dates) == 1
    clock = parsedate_to_datetime(dates[0].removeprefix("date: "))
    moment = parsedate_to_datetime(heard.header("retry-after") or "")
    assert (moment - clock).total_seconds() == pytest.approx(60, abs=1)
    assert clock.timestamp() - time.time() > 80000


@pytest.mark.parametrize(
    ("do", "told", "status", "kind", "acts"),
    [
        ("error-before", {"status": 502, "html": True}, 502, "text/html", False),
        ("error-after", {"status": 504, "html": True}, 504, "text/html", True),
        ("html", {}, 200, "text/html", True),
        ("xml", {}, 200, "application/xml", True),
        ("not-json", {}, 202, "application/json", True),
        ("empty", {}, 202, "application/json", True),
        ("truncated", {}, 202, "application/json", True),
        ("gzip-lie", {}, 202, "application/json", True),
    ],
)
def test_what_it_says_is_no_json(instant, plan, do, told, status, kind, acts):
    plan("create", do, **told)
    key = f"nojson_{secrets.token_hex(6)}"
    said = {"tool": "explainer", "duration_seconds": 5, "idempotency_key": key}
    with instant.client.stream("POST", "/videos", json=said) as answer:
        raw = b"".join(answer.iter_raw())
    assert (answer.status_code, answer.headers["content-type"]) == (status, kind)
    assert int(answer.headers["content-length"]) == len(raw)
    assert any(one["idempotency_key"] == key for one in instant.charges()) is acts
    with pytest.raises((ValueError, httpx.DecodingError)):
        httpx.Response(200, headers=answer.headers, content=raw).json()


def test_it_refuses_a_login_as_oauth_does(instant, anyone, plan):
    plan("token", "status", status=400, code="slow_down", message="Wait longer.")
    answer = anyone.post(f"{instant.ready['auth_url']}/api/oauth/token", data={})
    assert answer.status_code == 400
    assert answer.json() == {"error": "slow_down", "error_description": "Wait longer."}


def test_it_leads_elsewhere(instant, plan):
    plan("create", "redirect")
    answer = create(instant)
    assert (answer.status_code, answer.extensions["acted"]) == (307, False)
    assert answer.headers["location"] == "https://elsewhere.invalid/api/v1/videos"
    plan("list", "redirect", location="http://127.0.0.1:1/videos")
    assert instant.client.get("/videos").headers["location"] == "http://127.0.0.1:1/videos"


@pytest.mark.parametrize(
    ("do", "told", "status", "names"),
    [("shapeless", {}, 202, False), ("restatus", {"status": 200}, 200, True)],
)
def test_a_success_lacks_everything_or_is_another(instant, plan, do, told, status, names):
    plan("create", do, **told)
    answer = create(instant)
    assert (answer.status_code, answer.extensions["acted"]) == (status, True)
    assert bool(answer.json()["data"]) is names
    assert answer.json()["meta"]["request_id"]


def test_it_changes_members(instant, plan):
    video = instant.create()
    plan(
        "get", "rewrite",
        set={"status": "polishing", "poll_after_seconds": "soon", "more.deeply": [1]},
        remove=["title", "fields.product", "none.such"],
    )  # fmt: skip
    said = instant.get(video)
    assert (said["id"], said["status"]) == (video, "polishing")
    assert (said["poll_after_seconds"], said["more"]) == ("soon", {"deeply": [1]})
    assert "title" not in said
    assert set(said["fields"]) == {"benefits"}


def test_it_forgets_a_key(instant, plan):
    plan("create", "forget-key", nth=3)
    key = f"forgotten_{secrets.token_hex(6)}"
    videos = [create(instant, key).json()["data"]["id"] for _ in range(4)]
    assert videos[0] == videos[1] != videos[2] == videos[3]
    reserved = [one["video_id"] for one in instant.charges() if one["idempotency_key"] == key]
    assert set(reserved) == {videos[0], videos[2]}


def test_it_confuses_caption_formats(instant, plan):
    video = instant.create()
    instant.wait(video)
    plan("captions", "wrong-format", nth="1-2")
    path = f"/videos/{video}/captions?format="
    forms = [*("srt", "vtt"), *("srt", "vtt")]
    said = [instant.client.get(path + form).text.startswith("WEBVTT") for form in forms]
    assert said == [True, False, False, True]


@pytest.mark.merge
def test_nothing_can_go_wrong_that_does_not_happen(instant, plan):
    """Every kind on the list strikes, and the sandbox outlives it."""
    address = instant.door("faults")
    listed = instant.client.get(f"{address}/kinds").json()
    video = instant.create()
    paths = {"captions": f"videos/{video}/captions", "file": instant.url(video), "*": "tools"}
    lasting = ("crash-before", "crash-after", "hang", "hang-before")
    for kind in listed:
        if kind["on"] not in paths or kind["do"] in lasting:
            continue
        given = {name: 0.001 for name in kind["takes"] if name == "seconds"}
        given |= {"bytes": 5000} if "bytes" in kind["takes"] else {}
        given |= {"status": 418} if kind["do"] == "status" else {}
        plan(kind["on"], kind["do"], **given)
        # On a connection of its own: some faults end it at a moment of their choosing.
        url = instant.client.base_url.join(paths[kind["on"]])
        with contextlib.suppress(httpx.HTTPError):
            httpx.get(url, headers=instant.client.headers)
        assert [one["struck"] for one in instant.client.get(address).json()] == [1], kind
        assert instant.client.get(f"{address}/log").json()[-1]["do"] == kind["do"]
        instant.client.delete(address)
    assert instant.client.get("/tools").status_code == 200
