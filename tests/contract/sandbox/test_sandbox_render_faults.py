"""Renders that fail on purpose: each fault leaves the video, the record and the credits true."""

from __future__ import annotations

import hashlib
import io
from typing import Any

import av
import pytest


def plan(running: Any, do: str, **members: Any) -> None:
    answer = running.post(running.door("faults"), on="render", do=do, nth=1, **members)
    assert answer.status_code == 201, answer.text


@pytest.fixture(scope="module")
def faulty(begin: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return begin("--render", "instant", state=tmp_path_factory.mktemp("render_faults"))


def test_a_render_fails_with_a_reason_and_costs_nothing(faulty):
    plan(faulty, "fail", message="The scene could not be lit.")
    video = faulty.create()
    failed = faulty.wait(video, "failed")
    assert failed["failure_reason"] == "The scene could not be lit."
    assert failed["credits_charged"] == failed["credits_reserved"] == 0
    assert faulty.events(video) == ["reserve", "release"]
    render = faulty.data(f"/videos/{video}/renders")["renders"][0]
    assert (render["status"], render["failure_reason"]) == ("failed", failed["failure_reason"])
    assert faulty.client.post(f"/videos/{video}/generate").status_code == 202
    assert faulty.wait(video)["failure_reason"] is None


def test_a_remake_that_fails_leaves_the_earlier_video_to_begin_with(faulty):
    video = faulty.create()
    faulty.wait(video)
    plan(faulty, "fail")
    faulty.client.post(f"/videos/{video}/voice", json={"voice_id": "v"})
    faulty.wait(video, "failed")
    assert faulty.get(video)["voice_id"] is None
    assert faulty.client.get(f"/videos/{video}/download").status_code == 409
    assert faulty.client.post(f"/videos/{video}/renders").status_code == 202
    faulty.wait(video)
    assert faulty.client.get(f"/videos/{video}/download").status_code == 200


def test_a_video_is_damaged_and_its_fingerprint_is_that_of_the_damaged_file(faulty):
    plan(faulty, "corrupt")
    video, good = faulty.create(), faulty.create()
    videos = [faulty.file(one) for one in (video, good)]
    with pytest.raises(av.error.InvalidDataError):
        av.open(io.BytesIO(videos[0]))
    av.open(io.BytesIO(videos[1])).close()
    render = faulty.data(f"/videos/{video}/renders")["renders"][0]
    assert render["sha256"] == hashlib.sha256(videos[0]).hexdigest()
    assert render["bytes"] == len(videos[0])


def test_a_late_render_says_how_late_it_is(faulty):
    plan(faulty, "slow", seconds=3600)
    video = faulty.create()
    on_time = faulty.create()
    faulty.wait(on_time)
    seen = faulty.get(video)
    assert seen["status"] == "generating"
    assert 3000 < seen["poll_after_seconds"] <= 3600
    assert faulty.client.post(f"/videos/{video}/cancel").status_code == 200


def test_a_render_that_never_ends_does_not_end_with_a_restart_either(start, tmp_path):
    first = start("--render", "instant", state=tmp_path)
    plan(first, "never")
    stuck = first.create()
    first.wait(first.create())
    assert first.get(stuck)["status"] == "generating"
    first.kill()
    again = start("--render", "instant", state=tmp_path)
    again.wait(again.create())
    assert again.get(stuck)["status"] == "generating"
    assert again.events(stuck) == ["reserve"]
    assert again.client.post(f"/videos/{stuck}/cancel").status_code == 200
    assert again.events(stuck) == ["reserve", "release"]
