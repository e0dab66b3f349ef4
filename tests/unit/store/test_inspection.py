"""What a look at a video finds wrong, and the pictures it makes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from callsheet.tasks.store.captions import judge_captions
from callsheet.tasks.store.checks import judge_length
from callsheet.tasks.store.inspection import inspect_video
from tests.unit.store.made_videos import (
    frozen_from,
    make_video,
    moving,
    one_word,
    plain,
    silence,
    tone,
    until,
)

DARK, LIGHT = plain(0), moving()
STILL = "the picture stands still throughout"
BLACK = "the picture is black throughout"
NOTHING = "there is a sound track, and nothing to hear"
SOUND = {"silence": "ok"}


@pytest.mark.merge
@pytest.mark.parametrize(
    ("picture", "sound", "keys", "found"),
    [
        (LIGHT, tone, 100, {}),
        (LIGHT, tone, 1, {}),
        (DARK, tone, 100, {"black": BLACK, "frozen": STILL}),
        (DARK, tone, 1, {"black": BLACK, "frozen": STILL}),
        pytest.param(until(0.5, DARK, LIGHT), tone, 100, {}, id="fades in"),
        pytest.param(until(5.0, LIGHT, DARK), tone, 1, {}, id="fades out"),
        (until(1.5, LIGHT, DARK), tone, 1, {
            "black": "the picture is black at 8 of 10 moments", "frozen": True}),
        (plain(120), tone, 100, {"frozen": STILL}),
        (plain(120), tone, 1, {"frozen": STILL}),
        (frozen_from(0, LIGHT), tone, 100, {"frozen": STILL}),
        (frozen_from(2, LIGHT), tone, 100, {"frozen": True}),
        pytest.param(frozen_from(4.5, LIGHT), tone, 100, {}, id="ends on a still"),
        (LIGHT, silence, 100, {"silence": NOTHING}),
        (LIGHT, one_word, 100, {}),
    ],
)  # fmt: skip
def test_what_is_plainly_wrong_is_found(tmp_path, picture, sound, keys, found) -> None:
    video = make_video(tmp_path / "video.mp4", picture, sound, keys_every=keys)
    inspection = inspect_video(video, "no")
    expected = {"black": "ok", "frozen": "ok", **SOUND, **found}
    wrong = {name: words for name, words in inspection.findings.items() if words != "ok"}
    assert set(inspection.findings) == set(expected)
    assert set(wrong) == set(found), wrong
    assert {name: words for name, words in wrong.items() if found[name] is not True} == {
        name: words for name, words in found.items() if words is not True
    }


def test_where_it_stands_still_is_said(tmp_path) -> None:
    video = make_video(tmp_path / "video.mp4", frozen_from(2, LIGHT), seconds=8)
    words = inspect_video(video, "no").findings["frozen"]
    begin, end = (float(word) for word in words.split() if word[0].isdigit())
    assert begin == pytest.approx(2, abs=0.5)
    assert end == pytest.approx(8, abs=0.2)


def test_a_video_without_sound_is_not_judged_by_it(tmp_path) -> None:
    inspection = inspect_video(make_video(tmp_path / "video.mp4", LIGHT, None), "no")
    assert inspection.findings == {"black": "ok", "frozen": "ok"}
    assert inspection.poster is None


@pytest.mark.merge
@pytest.mark.parametrize(
    ("size", "poster", "tile"),
    [
        ((320, 180), (320, 180), (160, 90)),
        ((180, 320), (180, 320), (90, 160)),
        ((1080, 1920), (360, 640), (90, 160)),
        ((50, 40), (50, 40), (50, 40)),
    ],
)
def test_pictures_have_the_shape_of_the_video(tmp_path, size, poster, tile) -> None:
    video = make_video(tmp_path / "video.mp4", moving(*size), None, seconds=2, keys_every=0.25)
    inspection = inspect_video(video, "yes")
    assert inspection.poster is not None
    assert inspection.strip is not None
    assert inspection.shown > 5
    for made, (width, height) in (
        (inspection.poster, poster),
        (inspection.strip, (tile[0] * 10, tile[1])),
    ):
        with Image.open(io.BytesIO(made.data)) as seen:
            assert (seen.format, seen.size) == ("JPEG", (width, height))
            assert (made.width, made.height) == (width, height)


def opened(picture) -> Image.Image:
    return Image.open(io.BytesIO(picture.data)).convert("L")


def test_a_strip_goes_on_with_the_video_and_a_poster_shows_something(tmp_path) -> None:
    picture = until(2.0, DARK, until(4.0, plain(90), plain(200)))
    inspection = inspect_video(
        make_video(tmp_path / "video.mp4", picture, None, keys_every=0.5), "yes"
    )
    strip, poster = opened(inspection.strip), opened(inspection.poster)
    levels = [strip.getpixel((80 + 160 * tile, 45)) for tile in range(10)]
    assert poster.getpixel((100, 100)) == pytest.approx(90, abs=4)
    assert levels == pytest.approx([0, 0, 0, 90, 90, 90, 200, 200, 200, 200], abs=4)


def test_a_poster_alone_may_be_asked_for(tmp_path) -> None:
    inspection = inspect_video(
        make_video(tmp_path / "video.mp4", until(0.5, DARK, LIGHT), None), "poster"
    )
    assert inspection.strip is None
    # Its one key frame is black: another was looked for.
    assert opened(inspection.poster).getextrema()[1] > 200


def test_damaged_sound_is_no_reason_to_fail(tmp_path) -> None:
    import av

    video = make_video(tmp_path / "video.mp4", LIGHT)
    with av.open(str(video)) as container:
        entries = [(e.pos, e.size) for e in container.streams.audio[0].index_entries]
    data = bytearray(video.read_bytes())
    for at, size in entries:
        data[at : at + size] = b"\x5a" * size
    video.write_bytes(bytes(data))
    inspection = inspect_video(Path(video), "yes")
    assert inspection.poster is not None
    assert inspection.findings["black"] == "ok"


@pytest.mark.parametrize(
    ("seconds", "asked", "found"),
    [(8.0, 8, "ok"), (9.5, 8, "ok"), (9.7, 8, "it is 9.7 s long, 8 s were asked for"),
     (16.0, 8, "it is 16 s long, 8 s were asked for"), (55.0, 60, "ok"),
     (30.0, 60, "it is 30 s long, 60 s were asked for")],
)  # fmt: skip
def test_a_video_is_as_long_as_was_asked(seconds, asked, found) -> None:
    assert judge_length(seconds, asked) == found


def cues(*times: str, head: str = "") -> str:
    return head + "".join(f"{at}\n{time}\nwords\n\n" for at, time in enumerate(times, 1))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (cues("00:00:00,000 --> 00:00:02,000", "00:00:02,000 --> 00:00:07,900"), "ok"),
        (cues("00:00:03,000 --> 00:00:04,000", "00:00:02,000 --> 00:00:05,000"),
         "cue 2 of the captions begins before the one above it"),
        (cues("00:00:03,000 --> 00:00:02,000"), "cue 1 of the captions ends before it begins"),
        (cues("00:00:00,000 --> 00:00:12,500"),
         "cue 1 of the captions ends at 12.5 s, the video at 8 s"),
        (cues("00:01.000 --> 00:02.5", "01:00:03.000 --> 01:00:04.000", head="WEBVTT\n\n"),
         "cue 2 of the captions ends at 3604 s, the video at 8 s"),
        (cues("00:00:08,000 --> 00:00:08,400"), "ok"),
    ],
)  # fmt: skip
def test_captions_are_in_order_and_end_with_the_video(text, found) -> None:
    assert judge_captions(text, 8.0) == found
