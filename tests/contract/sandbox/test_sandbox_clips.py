"""Clips from the caller's own picture or footage: what they take, make and cost."""

from __future__ import annotations

import base64
import io
from typing import Any

import av
import pytest
from PIL import Image

CLIP = "https://example.com/me.mov"


def picture(colour: str, kind: str = "png") -> str:
    data = io.BytesIO()
    Image.new("RGB", (64, 48), colour).save(data, kind.upper())
    return f"data:image/{kind};base64,{base64.b64encode(data.getvalue()).decode()}"


IMAGE = {"image": "https://example.com/photos/kettle.jpg?size=9"}
AVATAR = {"clip": CLIP, "script": "Six words are said here, slowly."}
SWAP = {"clip": "upload-7.mov", "character_id": 7}
MADE: dict[str, tuple[dict[str, Any], int]] = {
    "image-to-video": ({**IMAGE, "narration": "It hums.", "title": "Kettle"}, 5),
    "talking-avatar": ({**AVATAR, "aspect_ratio": "16:9", "language": "en"}, 3),
    "character-swap": ({**SWAP, "duration_seconds": 4, "aspect_ratio": "1:1"}, 4),
}
BAD = [
    ("image-to-video", {}, "image"),
    ("image-to-video", {**IMAGE, "duration_seconds": 7}, "duration_seconds"),
    ("image-to-video", {"image": "data:text/html;base64,AAAA"}, "image"),
    ("image-to-video", {**IMAGE, "idempotency_key": "k"}, "idempotency_key"),
    ("talking-avatar", {"clip": CLIP}, "script"),
    ("talking-avatar", {"clip": CLIP, "script": {"scenes": []}}, "scenes"),
    ("talking-avatar", {**AVATAR, "duration_seconds": 5}, "duration_seconds"),
    ("talking-avatar", {**AVATAR, "clip": picture("red")}, "clip"),
    ("character-swap", {"clip": CLIP}, "exactly one"),
    ("character-swap", {**SWAP, "photos": ["a.jpg"]}, "exactly one"),
    ("character-swap", {"clip": CLIP, "photos": []}, "photos"),
    ("character-swap", {"clip": CLIP, "photos": ["a.jpg"] * 11}, "photos"),
    ("character-swap", {**SWAP, "duration_seconds": 2}, "duration_seconds"),
    ("character-swap", {**SWAP, "duration_seconds": 61}, "duration_seconds"),
    ("character-swap", {**SWAP, "narration": "No"}, "narration"),
]


def create(running: Any, kind: str, body: dict[str, Any]) -> str:
    answer = running.client.post(f"/videos/{kind}", json=body)
    assert answer.status_code == 202, answer.text
    said = answer.json()["data"]
    assert set(said) == {"id", "status", "poll_after_seconds"}
    return str(said["id"])


@pytest.mark.parametrize("kind", MADE)
def test_a_clip_is_as_long_as_asked_and_remembers_what_was_asked(quick, kind):
    body, seconds = MADE[kind]
    video = create(quick, kind, body)
    with av.open(io.BytesIO(quick.file(video))) as opened:
        assert sum(1 for _ in opened.decode(video=0)) == 20 * seconds
    shown = quick.get(video)
    assert body.items() <= shown.items()
    assert (shown["kind"], shown["duration_seconds"]) == (kind, seconds)
    assert video in [one["id"] for one in quick.data("/videos")["videos"]]
    entries = [entry for entry in quick.charges() if entry["video_id"] == video]
    assert [(entry["event"], entry["operation"]) for entry in entries] == [
        ("reserve", kind),
        ("charge", kind),
    ]


def test_a_large_picture_is_not_echoed_whole(instant):
    data = io.BytesIO()
    Image.effect_noise((300, 300), 90).save(data, "PNG")
    image = f"data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}"
    video = create(instant, "image-to-video", {"image": image})
    shown = instant.get(video)["image"]
    assert len(shown) < 200
    assert shown.startswith("data:image/png;base64,")


@pytest.mark.parametrize(("kind", "body", "named"), BAD)
def test_it_refuses_what_cannot_be_made_and_names_the_field(instant, kind, body, named):
    answer = instant.client.post(f"/videos/{kind}", json=body)
    assert answer.status_code == 400
    assert named in answer.json()["error"]["message"]


@pytest.mark.parametrize(("kind", "body"), [("image-to-video", IMAGE), ("character-swap", SWAP)])
def test_where_nothing_is_said_there_are_no_captions_and_no_voice(instant, kind, body):
    video = create(instant, kind, body)
    instant.wait(video)
    assert instant.client.get(f"/videos/{video}/captions").status_code == 400
    voice = instant.client.post(f"/videos/{video}/voice", json={"voice_id": "v"})
    assert (voice.status_code, voice.json()["error"]["code"]) == (409, "no_voiceover")
    script = instant.client.patch(f"/videos/{video}", json={"script": {"text": "Hi"}})
    assert script.status_code == 400


def test_what_is_said_has_captions_and_can_be_generated_again(instant):
    video = create(instant, "talking-avatar", AVATAR)
    instant.wait(video)
    assert "Six words" in instant.client.get(f"/videos/{video}/captions").text
    edited = instant.client.patch(f"/videos/{video}", json={"script": {"text": "Other words."}})
    assert edited.status_code == 200
    assert instant.client.post(f"/videos/{video}/generate").status_code == 202
    instant.wait(video)
    assert "Other words." in instant.client.get(f"/videos/{video}/captions").text
