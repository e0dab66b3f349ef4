"""Which edit makes one request of another, and when only a new video does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.tasks.values.edits import Edit, edit_between

SCENES = [{"narration": "One.", "visual": "sea"}, {"narration": "Two.", "visual": "sky"}]
MADE: dict[str, Any] = {
    "tool": "announcement",
    "title": "Spring",
    "topic": "Kettles",
    "caption_style": "bold",
    "voice_id": "anna",
    "language": "en",
    "duration_seconds": 10,
    "script": {"scenes": SCENES},
}


def narrated(*said: str) -> dict[str, Any]:
    return {
        "scenes": [{**one, "narration": words} for one, words in zip(SCENES, said, strict=True)]
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"topic": "Pots"}, Edit(of="title", changes={"topic": "Pots"})),
        (
            {"title": "Summer", "caption_style": "thin"},
            Edit(of="captions", changes={"caption_style": "thin", "title": "Summer"}),
        ),
        ({"voice_id": "ben"}, Edit(of="voice", body={"voice_id": "ben"})),
        (
            {"script": narrated("One.", "Three.")},
            Edit(of="scene", scene=2, body={"narration": "Three."}),
        ),
        # Anything else takes a new video.
        ({}, None),
        ({"title": None}, None),
        ({"title": ""}, None),
        ({"voice_id": "ben", "title": "Summer"}, None),
        ({"script": narrated("Four.", "Three.")}, None),
        ({"script": narrated("One.", " ")}, None),
        ({"script": {"scenes": SCENES[:1]}}, None),
        ({"script": {"scenes": [SCENES[0], {**SCENES[1], "visual": "sand"}]}}, None),
        ({"script": {**narrated("One.", "Three."), "mood": "calm"}}, None),
        ({"script": {"text": "One. Three."}}, None),
        ({"script": {"scenes": [SCENES[0], "Three."]}}, None),
        ({"language": "de"}, None),
        ({"tool": "explainer"}, None),
    ],
)
def test_the_cheapest_act_for_each_change(changes, expected):
    wanted = {name: value for name, value in {**MADE, **changes}.items() if value is not None}
    assert edit_between(MADE, wanted) == expected


FREE = {"title", "topic", "caption_style"}


@given(
    st.dictionaries(
        st.sampled_from([*MADE, "music_id"]), st.text("abc", min_size=1), min_size=1, max_size=4
    )
)
def test_every_changed_member_is_in_the_edit_or_takes_a_new_video(changes):
    changed = {name for name, value in changes.items() if MADE.get(name) != value}
    edit = edit_between(MADE, {**MADE, **changes})
    if edit is None:
        assert not changed or not (changed <= FREE or changed == {"voice_id"})
    else:
        assert changed == edit.changes.keys() | edit.body.keys()


@pytest.mark.parametrize(
    ("made", "changes", "edited"),
    [
        ({"topic": "Tea"}, {"topic": "Coffee"}, False),
        ({"topic": "Tea", "title": "Spring"}, {"title": "Summer"}, True),
        ({"title": "Tea"}, {"title": "Coffee"}, False),
        ({"topic": "Tea", "tool": "explainer"}, {"topic": "Coffee"}, True),
        ({"topic": "Tea", "script": {"scenes": ["One."]}}, {"topic": "Coffee"}, True),
    ],
)
def test_what_a_video_is_about_is_no_label(made, changes, edited):
    assert (edit_between(made, {**made, **changes}) is not None) == edited


def test_scenes_that_are_texts_are_narration_and_the_only_one_is_the_whole_video() -> None:
    made, wanted = {"scenes": ["One.", "Two."]}, {"scenes": ["One.", "Three."]}
    edit = Edit(of="scene", scene=2, body={"narration": "Three."})
    assert edit_between({"script": made}, {"script": wanted}) == edit
    alone, other = ({"script": {"scenes": [said]}} for said in ("One.", "Two."))
    assert edit_between(alone, other) is None
