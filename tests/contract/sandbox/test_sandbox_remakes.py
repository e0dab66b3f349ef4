"""Videos made again in part: the one scene, the voice, the export; and nothing else of them."""

from __future__ import annotations

import hashlib
import io
from typing import Any

import av
import pytest

SCRIPT = {
    "scenes": [
        {"narration": "The first scene of this video stays as it is."},
        {"narration": "The second one is made again, with other words."},
        {"narration": "The third stays too."},
    ]
}
RATE = 20


class VideoFile:
    """One finished video: its pictures and its sound, decoded."""

    def __init__(self, data: bytes) -> None:
        self.sha256 = hashlib.sha256(data).hexdigest()
        with av.open(io.BytesIO(data)) as opened:
            pictures = [frame.to_ndarray() for frame in opened.decode(video=0)]
        self.pictures = [hashlib.sha256(one).hexdigest() for one in pictures]
        self.size = pictures[0].shape
        with av.open(io.BytesIO(data)) as opened:
            self.sound = b"".join(one.to_ndarray().tobytes() for one in opened.decode(audio=0))


def remake(running: Any, video: str, path: str, **body: Any) -> dict[str, Any]:
    answer = running.client.post(f"/videos/{video}/{path}", json=body)
    assert answer.status_code == 202, answer.text
    assert answer.json()["data"]["status"] == "generating"
    return dict(running.wait(video, within=60))


@pytest.fixture(scope="module")
def real(begin: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Real videos in about a second, and addresses that outlast the module."""
    return begin("--time-scale", "60", state=tmp_path_factory.mktemp("remakes"))


@pytest.fixture(scope="module")
def made(real: Any) -> tuple[str, dict[str, Any], VideoFile]:
    body = {"script": SCRIPT, "duration_seconds": 6, "aspect_ratio": "1:1"}
    video = str(real.client.post("/videos", json=body).json()["data"]["id"])
    return video, real.wait(video, within=60), VideoFile(real.file(video))


@pytest.mark.merge
def test_a_scene_is_made_anew_and_the_others_stay_to_the_last_bit(real, made):
    video, seen, _ = made
    before = VideoFile(real.file(video))
    first, second, third = seen["scenes"]
    after = remake(real, video, "scenes/2/regenerate", narration="These words are other ones.")
    rendered = VideoFile(real.file(video))
    changed = {at for at, one in enumerate(rendered.pictures) if one != before.pictures[at]}
    assert len(rendered.pictures) == len(before.pictures)
    assert changed == {at for at in range(6 * RATE) if second["start"] <= at / RATE < second["end"]}
    assert rendered.sha256 != before.sha256
    other = {**second, "narration": "These words are other ones.", "take": 1}
    assert after["scenes"] == [first, other, third]
    assert "These words are other ones." in real.client.get(f"/videos/{video}/captions").text


@pytest.mark.parametrize("n", ["0", "4", "-1", "one", "99999999999"])
def test_there_is_no_such_scene(real, made, n):
    answer = real.client.post(f"/videos/{made[0]}/scenes/{n}/regenerate")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_another_voice_is_heard_and_the_pictures_stay(real, made):
    video = made[0]
    before = VideoFile(real.file(video))
    idle = real.data(f"/videos/{video}/voice")
    assert (idle["status"], idle["voice_id"]) == ("idle", None)
    after = remake(real, video, "voice", voice_id="voice-birch")
    rendered = VideoFile(real.file(video))
    assert rendered.pictures == before.pictures
    assert rendered.sound != before.sound
    assert after["voice_id"] == "voice-birch"
    shown = real.data(f"/videos/{video}/voice")
    assert (shown["status"], shown["percent"]) == ("completed", 100)
    assert shown["voice_id"] == "voice-birch"


def test_an_export_takes_edits_of_captions_and_the_scenes_there_are(real, made):
    video = made[0]
    words = real.client.get(f"/videos/{video}/captions").text
    before = VideoFile(real.file(video))
    edits = {"caption_settings": {"enabled": False}, "script": {"text": "Not before a generate."}}
    assert real.client.patch(f"/videos/{video}", json=edits).status_code == 200
    remake(real, video, "renders", aspect_ratio="16:9")
    rendered = VideoFile(real.file(video))
    assert rendered.size != before.size
    assert rendered.sha256 != before.sha256
    assert real.client.get(f"/videos/{video}/captions").text == words


def test_past_exports_are_listed_with_the_fingerprint_of_their_video(real, anyone):
    video = real.create(duration_seconds=1)
    first = real.url(video)
    remake(real, video, "renders")
    second = real.url(video)
    renders = real.data(f"/videos/{video}/renders")["renders"]
    assert [(one["number"], one["kind"]) for one in renders] == [(2, "export"), (1, "generate")]
    for render, url in zip(renders, (second, first), strict=True):
        rendered = anyone.get(url).content
        assert render["sha256"] == hashlib.sha256(rendered).hexdigest()
        assert render["bytes"] == len(rendered)
        assert render["status"] == "completed"
    progress = real.data(f"/videos/{video}/renders/progress")
    assert (progress["status"], progress["percent"]) == ("completed", 100)
    assert progress["render"] == renders[0]


PATHS = [("scenes/1/regenerate", {}), ("voice", {"voice_id": "v"}), ("renders", {})]


@pytest.mark.parametrize(("path", "body"), PATHS)
def test_a_video_without_a_video_cannot_be_made_again(slow, path, body):
    draft = slow.create(start_generation=False)
    answer = slow.client.post(f"/videos/{draft}/{path}", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_finished")
    running = slow.create()
    answer = slow.client.post(f"/videos/{running}/{path}", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "already_generating")


@pytest.mark.parametrize(("path", "body"), PATHS)
def test_each_is_paid_by_itself_and_differs_in_instant_videos_too(instant, path, body):
    video = instant.create()
    charged = instant.wait(video)["credits_charged"]
    before = instant.client.get(instant.url(video)).headers["etag"]
    after = remake(instant, video, path, **body)
    entries = [entry for entry in instant.charges() if entry["video_id"] == video]
    assert [entry["event"] for entry in entries] == ["reserve", "charge"] * 2
    assert [entry["render"] for entry in entries] == [1, 1, 2, 2]
    operations = {"scenes": "scene", "voice": "voice", "renders": "export"}
    assert entries[2]["operation"] == operations[path.partition("/")[0]]
    assert entries[2]["credits"] == after["credits_charged"] - charged > 0
    assert entries[0]["key_id"].startswith("key_")
    assert instant.client.get(instant.url(video)).headers["etag"] != before


def test_a_remake_under_way_blocks_the_download_and_can_be_cancelled(begin, tmp_path):
    first = begin("--render", "instant", state=tmp_path)
    video = first.create()
    first.wait(video)
    first.stop()
    slow = begin("--time-scale", "0.01", state=tmp_path)
    url = slow.url(video)
    assert slow.client.post(f"/videos/{video}/voice", json={"voice_id": "v"}).status_code == 202
    progress = slow.data(f"/videos/{video}/renders/progress")
    assert (progress["status"], progress["render"]["kind"]) == ("running", "voice")
    assert slow.data(f"/videos/{video}/voice")["status"] == "running"
    assert slow.client.get(f"/videos/{video}/download").status_code == 409
    assert slow.client.get(url).status_code == 200
    assert slow.client.post(f"/videos/{video}/cancel").json()["data"]["status"] == "cancelled"
    assert slow.events(video)[-2:] == ["reserve", "release"]
    voice = slow.data(f"/videos/{video}/voice")
    assert (voice["status"], voice["failure_reason"]) == ("failed", "It was cancelled.")
    assert slow.get(video)["voice_id"] is None
