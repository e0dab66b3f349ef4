"""Bodies that the specification describes in words only: names, bounds."""

from __future__ import annotations

import pytest

from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.service.bodies import body_of
from callsheet.tasks.values.requests import CharacterSwap, ImageToVideo, TalkingAvatar


@pytest.mark.parametrize("seconds", [None, 5, 10])
def test_a_clip_of_an_image_lasts_five_or_ten_seconds(seconds):
    body = body_of(ImageToVideo, image="https://f.test/a.png", duration_seconds=seconds)
    assert body == {"image": "https://f.test/a.png"} | (
        {"duration_seconds": seconds} if seconds else {}
    )


@pytest.mark.parametrize("seconds", [0, -5, 4, 6, 9, 11, 60])
def test_no_other_length_of_such_a_clip_is_sent(seconds):
    with pytest.raises(BadInput, match=f"5 or 10 seconds, not {seconds}"):
        body_of(ImageToVideo, image="https://f.test/a.png", duration_seconds=seconds)


def test_a_clip_of_an_image_may_speak():
    body = body_of(ImageToVideo, image="https://f.test/a.png", narration="Hello.")
    assert body["narration"] == "Hello."


def test_a_recorded_clip_speaks_a_script_of_any_form():
    for script in ("Hello.", {"scenes": [{"text": "Hello."}]}):
        body = body_of(TalkingAvatar, clip="https://f.test/c.mp4", script=script)
        assert body == {"clip": "https://f.test/c.mp4", "script": script}


@pytest.mark.parametrize("seconds", [None, 3, 60])
def test_a_swap_takes_photos_or_a_character(seconds):
    length = {"duration_seconds": seconds} if seconds else {}
    by_photos = body_of(CharacterSwap, clip="c", photos=["p1", "p2"], duration_seconds=seconds)
    assert by_photos == {"clip": "c", "photos": ["p1", "p2"]} | length
    by_character = body_of(CharacterSwap, clip="c", character_id=0, duration_seconds=seconds)
    assert by_character == {"clip": "c", "character_id": 0} | length


@pytest.mark.parametrize("who", [{}, {"photos": ["p"], "character_id": 7}, {"photos": []}])
def test_a_swap_without_one_person_is_not_sent(who):
    with pytest.raises(BadInput, match="either photos or a character"):
        body_of(CharacterSwap, clip="c", **who)


@pytest.mark.parametrize("seconds", [0, 2, 61, -3])
def test_no_other_length_of_a_swap_is_sent(seconds):
    with pytest.raises(BadInput, match=f"3 to 60 seconds, not {seconds}"):
        body_of(CharacterSwap, clip="c", photos=["p"], duration_seconds=seconds)


def test_a_member_of_another_type_is_told_by_its_name():
    with pytest.raises(BadInput, match=r"narration: .*valid string"):
        body_of(ImageToVideo, image="i", narration=7)
