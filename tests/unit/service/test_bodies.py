"""Bodies that the specification describes in words only: names, bounds, and room for more."""

from __future__ import annotations

import json

import pytest

from tasks.errors import BadInput
from tasks.service import bodies


@pytest.mark.parametrize("seconds", [None, 5, 10])
def test_a_clip_of_an_image_lasts_five_or_ten_seconds(seconds):
    body = bodies.image_to_video("https://f.test/a.png", seconds=seconds)
    assert body == {"image": "https://f.test/a.png"} | (
        {"duration_seconds": seconds} if seconds else {}
    )


@pytest.mark.parametrize("seconds", [0, -5, 4, 6, 9, 11, 60])
def test_no_other_length_of_such_a_clip_is_sent(seconds):
    with pytest.raises(BadInput, match=f"5 or 10 seconds, not {seconds}"):
        bodies.image_to_video("https://f.test/a.png", seconds=seconds)


def test_a_clip_of_an_image_may_speak():
    body = bodies.image_to_video("https://f.test/a.png", narration="Hello.")
    assert body["narration"] == "Hello."


def test_a_filmed_clip_speaks_a_script_of_any_form():
    for script in ("Hello.", {"scenes": [{"text": "Hello."}]}):
        body = bodies.talking_avatar("https://f.test/c.mp4", script)
        assert body == {"clip": "https://f.test/c.mp4", "script": script}


@pytest.mark.parametrize("seconds", [None, 3, 60])
def test_a_swap_takes_photos_or_a_character(seconds):
    length = {"duration_seconds": seconds} if seconds else {}
    by_photos = bodies.character_swap("c", photos=["p1", "p2"], seconds=seconds)
    assert by_photos == {"clip": "c", "photos": ["p1", "p2"]} | length
    by_character = bodies.character_swap("c", character_id=0, seconds=seconds)
    assert by_character == {"clip": "c", "character_id": 0} | length


@pytest.mark.parametrize("who", [{}, {"photos": ["p"], "character_id": 7}, {"photos": []}])
def test_a_swap_without_one_person_is_not_sent(who):
    with pytest.raises(BadInput, match="either photos or a character"):
        bodies.character_swap("c", **who)


@pytest.mark.parametrize("seconds", [0, 2, 61, -3])
def test_no_other_length_of_a_swap_is_sent(seconds):
    with pytest.raises(BadInput, match=f"3 to 60 seconds, not {seconds}"):
        bodies.character_swap("c", photos=["p"], seconds=seconds)


def test_a_member_of_another_type_is_told_by_its_name():
    with pytest.raises(BadInput, match=r"narration: .*valid string"):
        bodies.scene(7)


def test_the_bodies_of_remakes_hold_what_was_given_and_nothing_else():
    assert bodies.scene() == {}
    assert bodies.scene("New words.") == {"narration": "New words."}
    assert bodies.voice("v2") == {"voice_id": "v2"}
    assert bodies.report("wrong film") == {"reason": "wrong film"}


@pytest.mark.parametrize(
    "make",
    [
        lambda more: bodies.image_to_video("i", more=more),
        lambda more: bodies.talking_avatar("c", "s", more=more),
        lambda more: bodies.character_swap("c", photos=["p"], more=more),
        lambda more: bodies.scene("n", more=more),
        lambda more: bodies.voice("v", more=more),
        lambda more: bodies.report("r", more=more),
    ],
)
def test_whatever_the_service_wants_besides_is_passed_through(make):
    plain = make(None)
    first = next(iter(plain))
    assert make({"extra": [1], first: "other"}) == plain | {"extra": [1], first: "other"}
    assert json.loads(json.dumps(plain)) == plain
