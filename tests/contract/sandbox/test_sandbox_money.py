"""Credits and idempotency: one charge for one video, whatever is repeated, stopped or broken."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

GOOD = {"tool": "explainer", "duration_seconds": 6, "mode": "cinematic"}


def post(running: Any, **body: Any) -> httpx.Response:
    return running.post("/videos", **{**GOOD, **body})


def test_the_charge_is_the_estimate_which_reserves_nothing(instant):
    before, charges = instant.credits(), instant.charges()
    quoted = instant.post("/videos/estimate", **GOOD).json()["data"]["credits"]
    assert instant.charges() == charges
    video = instant.create(**GOOD)
    assert instant.wait(video)["credits_charged"] == quoted
    assert instant.events(video) == ["reserve", "charge"]
    assert instant.credits()["balance"] == before["balance"] - quoted


def test_a_key_is_for_one_body_and_one_video_though_that_is_deleted(instant):
    assert post(instant).json()["data"]["id"] != post(instant).json()["data"]["id"]
    post(instant, idempotency_key="mine")
    answer = post(instant, idempotency_key="mine", title="another")
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "idempotency_key_reuse"
    video = instant.create(idempotency_key="gone")
    instant.client.delete(f"/videos/{video}")
    assert instant.create(idempotency_key="gone") == video
    assert instant.events(video).count("reserve") == 1


async def test_identical_requests_at_once_make_one_video(slow):
    headers = {"authorization": f"Bearer {slow.ready['api_key']}"}
    body = {**GOOD, "idempotency_key": "race"}
    async with httpx.AsyncClient(base_url=slow.ready["base_url"], headers=headers) as client:
        answers = await asyncio.gather(*(client.post("/videos", json=body) for _ in range(24)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["data"]["id"] for answer in answers}) == 1
    raced = [entry for entry in slow.charges() if entry["idempotency_key"] == "race"]
    assert [entry["event"] for entry in raced] == ["reserve"]


def test_a_draft_costs_nothing_until_it_is_generated_and_each_generate_is_paid(instant):
    answer = post(instant, start_generation=False)
    video = answer.json()["data"]["id"]
    assert (answer.status_code, answer.json()["data"]["status"]) == (202, "draft")
    assert instant.events(video) == []
    charged = []
    for _ in range(2):
        assert instant.post(f"/videos/{video}/generate").status_code == 202
        charged.append(instant.wait(video)["credits_charged"])
    assert charged[1] == 2 * charged[0]
    assert instant.events(video) == ["reserve", "charge"] * 2


def test_a_running_render_is_not_started_twice(slow):
    video = slow.create()
    answer = slow.post(f"/videos/{video}/generate")
    assert (answer.status_code, answer.json()["error"]["retryable"]) == (409, False)
    assert slow.events(video) == ["reserve"]


def test_cancelling_releases_the_credits_once(slow):
    before = slow.credits()
    video = slow.create()
    assert slow.credits()["reserved"] == before["reserved"] + slow.get(video)["credits_reserved"]
    cancelled = slow.client.post(f"/videos/{video}/cancel")
    assert (cancelled.status_code, cancelled.json()["data"]["status"]) == (200, "cancelled")
    assert slow.client.post(f"/videos/{video}/cancel").status_code == 409
    assert slow.events(video) == ["reserve", "release"]
    assert slow.credits() == before
    video = slow.create()
    slow.client.delete(f"/videos/{video}")
    assert slow.events(video) == ["reserve", "release"]
    assert slow.credits() == before


def test_a_failed_render_releases_the_credits(start):
    running = start("--time-scale", "1000", env={"IMAGEIO_FFMPEG_EXE": "/bin/false"})
    video = running.create()
    failed = running.wait(video, "failed")
    assert failed["failure_reason"]
    assert failed["credits_charged"] == failed["credits_reserved"] == 0
    assert running.events(video) == ["reserve", "release"]
    assert running.client.get(f"/videos/{video}/download").status_code == 409


def test_it_refuses_what_the_balance_does_not_cover(start):
    running = start("--time-scale", "0.5", "--credits", "30")
    first = post(running, idempotency_key="a")
    answer = post(running, idempotency_key="b")
    assert (first.status_code, answer.status_code) == (202, 402)
    assert answer.json()["error"]["code"] == "insufficient_credits"
    running.client.post(f"/videos/{first.json()['data']['id']}/cancel")
    assert post(running, idempotency_key="b").status_code == 202
