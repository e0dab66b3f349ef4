"""The videos and their captions: real ones, of the right shape and length, each its own."""

from __future__ import annotations

import io
import itertools
from typing import Any

import av
import pysubs2
import pytest

SCRIPT = {
    "scenes": [
        {"narration": "Röda dörrar öppnas på våren. ¿Qué más? Łódź!", "visual": "A red door"},
        {"text": "漢字, العربية and 🎬 do not stop the press."},
        {"visual": "A sign at the road's end"},
    ]
}
ORDERS: list[dict[str, Any]] = [
    {"aspect_ratio": "9:16", "duration_seconds": 6, "title": "Aurora kettle"},
    {"aspect_ratio": "1:1", "duration_seconds": 4, "title": "Second video", "language": "de"},
    {"aspect_ratio": "16:9", "duration_seconds": 5, "script": SCRIPT, "title": "A\x00b\n" * 80},
]
SHAPES = {"9:16": (360, 640), "1:1": (480, 480), "16:9": (640, 360)}


@pytest.fixture(scope="module")
def videos(quick: Any) -> list[tuple[str, dict[str, Any], bytes]]:
    made = []
    for order in ORDERS:
        base = {} if "script" in order else {"tool": "product-launch", "fields": {"offer": "Two"}}
        answer = quick.client.post("/videos", json={**base, **order})
        assert answer.status_code == 202, answer.text
        made.append((answer.json()["data"]["id"], order))
    return [(video, order, quick.file(video)) for video, order in made]


@pytest.mark.merge
def test_they_decode_with_the_right_shape_length_and_sound(videos):
    for _, order, rendered in videos:
        with av.open(io.BytesIO(rendered)) as opened:
            picture, sound = opened.streams.video[0], opened.streams.audio[0]
            assert (picture.codec.name, picture.pix_fmt) == ("h264", "yuv420p")
            assert (picture.width, picture.height) == SHAPES[order["aspect_ratio"]]
            assert float(picture.duration * picture.time_base) == order["duration_seconds"]
            assert opened.duration / 1_000_000 == pytest.approx(order["duration_seconds"], abs=0.05)
            assert sound.codec_context.name == "aac"
            frames = sum(1 for _ in opened.decode(video=0))
            assert frames == 20 * order["duration_seconds"]
        with av.open(io.BytesIO(rendered)) as opened:
            loudest = max(abs(frame.to_ndarray()).max() for frame in opened.decode(audio=0))
            assert 0.05 < loudest < 0.9


@pytest.mark.merge
def test_no_two_are_alike_and_none_stands_still(videos):
    colours, sounds = set(), set()
    for _, _, rendered in videos:
        with av.open(io.BytesIO(rendered)) as opened:
            pictures = [frame.to_ndarray(format="rgb24") for frame in opened.decode(video=0)]
        assert abs(pictures[5].astype(int) - pictures[-5]).mean() > 1
        colours.add(tuple(int(level) // 8 for level in pictures[20].mean(axis=(0, 1))))
        with av.open(io.BytesIO(rendered)) as opened:
            sounds.add(b"".join(bytes(packet) for packet in opened.demux(audio=0))[:4000])
    assert len(colours) == len(sounds) == len(videos)


@pytest.mark.parametrize("form", ["srt", "vtt"])
def test_captions_follow_the_scenes(quick, videos, form):
    for video, order, _ in videos:
        answer = quick.client.get(f"/videos/{video}/captions", params={"format": form})
        kind = {"srt": "application/x-subrip", "vtt": "text/vtt"}[form]
        assert answer.headers["content-type"].split(";")[0] == kind
        cues = list(pysubs2.SSAFile.from_string(answer.text, format_=form))
        assert cues[0].start == 0
        assert cues[-1].end == order["duration_seconds"] * 1000
        assert all(one.end == two.start for one, two in itertools.pairwise(cues))
        assert all(cue.end > cue.start for cue in cues)
    text = answer.text
    assert "Łódź" in text
    assert "漢字" in text
    assert "A sign at the road's end" in text


def test_captions_are_srt_unless_asked_otherwise_and_come_with_the_video(quick, slow, videos):
    text = quick.client.get(f"/videos/{videos[0][0]}/captions").text
    assert text.startswith("1\n00:00:00,000 --> ")
    odd = quick.client.get(f"/videos/{videos[0][0]}/captions", params={"format": "doc"})
    assert odd.status_code == 400
    early = slow.client.get(f"/videos/{slow.create()}/captions")
    assert (early.status_code, early.json()["error"]["retryable"]) == (400, False)


def test_an_edit_takes_effect_at_the_next_generate(quick):
    video = quick.create(duration_seconds=1)
    quick.wait(video)
    before = quick.client.get(f"/videos/{video}/captions").text
    etag = quick.client.get(quick.url(video)).headers["etag"]
    edited = quick.client.patch(
        f"/videos/{video}", json={"script": {"text": "New words."}, "title": "New title"}
    )
    assert (edited.status_code, edited.json()["data"]["title"]) == (200, "New title")
    assert quick.client.get(f"/videos/{video}/captions").text == before
    quick.client.post(f"/videos/{video}/generate")
    assert quick.client.get(quick.url(video)).headers["etag"] != etag
    assert "New words." in quick.client.get(f"/videos/{video}/captions").text
    # Nothing else can be edited.
    answer = quick.client.patch(f"/videos/{video}", json={"duration_seconds": 9})
    assert answer.status_code == 400
    assert "duration_seconds" in answer.json()["error"]["message"]
