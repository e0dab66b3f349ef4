"""Rows that ask for a clip instead of a video."""

from __future__ import annotations

import pytest

IMAGE = "https://img.example/kettle.png"
CLIP = "https://clips.example/anna.mp4"


def one(sheet):
    (brief,) = sheet.briefs
    return brief


def test_an_image_is_animated(read):
    brief = one(
        read(
            "id,operation,image,duration_seconds,narration,title\n"
            f"a,Image to Video,{IMAGE},10,Good morning.,Kettle\n"
        )
    )
    assert brief.operation == "image-to-video"
    assert brief.request == {
        "image": IMAGE,
        "duration_seconds": 10,
        "narration": "Good morning.",
        "title": "Kettle",
    }
    assert brief.captions == ()


def test_a_recorded_clip_speaks_a_script_as_it_is_written(read):
    brief = one(read(f'id,operation,clip,script\na,talking-avatar,{CLIP},"One.\n\nTwo."\n'))
    assert brief.request == {"clip": CLIP, "script": "One.\n\nTwo."}


def test_a_person_is_swapped_for_photos_or_a_character(read):
    sheet = read(
        "id,operation,clip,photos,character_id,duration_seconds\n"
        f"a,character-swap,{CLIP},{IMAGE} {IMAGE}2,,3\n"
        f"b,character-swap,{CLIP},,12,60\n"
    )
    assert sheet.briefs[0].request["photos"] == [IMAGE, f"{IMAGE}2"]
    assert sheet.briefs[1].request["character_id"] == 12


def test_what_the_service_calls_by_another_name_is_passed_through(read):
    brief = one(
        read(
            "id,operation,body.image_url,body.motion,body.tags,body.strength\n"
            f'a,image-to-video,{IMAGE},slow,"[""x""]",5\n'
        )
    )
    assert brief.request == {"image_url": IMAGE, "motion": "slow", "tags": ["x"], "strength": 5}


def test_captions_of_a_clip_are_asked_for_where_somebody_wants_them(read):
    brief = one(read(f"id,operation,image,captions\na,image-to-video,{IMAGE},srt\n"))
    assert brief.captions == ("srt",)


def test_a_video_and_a_clip_of_the_same_words_are_different_briefs(read):
    with_word = one(read(f"operation,image\nimage-to-video,{IMAGE}\n"))
    other = one(read(f"operation,clip,script\ntalking-avatar,{IMAGE},Hi\n"))
    assert with_word.row != other.row
    assert with_word.digest != other.digest


def test_defaults_of_videos_do_not_reach_into_clips(read):
    sheet = read(
        "defaults: {tool: explainer, mode: hybrid, aspect_ratio: '1:1'}\n"
        "rows:\n"
        "  - {id: a, title: A video}\n"
        f"  - {{id: b, operation: image-to-video, image: '{IMAGE}'}}\n",
        "campaign.yaml",
    )
    assert sheet.briefs[0].request["tool"] == "explainer"
    assert sheet.briefs[1].request == {"aspect_ratio": "1:1", "image": IMAGE}


def test_a_default_that_is_not_for_a_row_is_left_out(read):
    sheet = read(
        "defaults: {operation: image-to-video, tool: explainer, fields: {a: x}}\n"
        "rows:\n"
        f"  - {{id: a, image: '{IMAGE}'}}\n"
        "  - {id: b, operation: create}\n"
        "  - {id: c, operation: create, script: Hello}\n",
        "campaign.yaml",
    )
    clip, video, own = sheet.briefs
    assert clip.request == {"image": IMAGE}
    assert video.request == {"tool": "explainer", "fields": {"a": "x"}}
    assert own.request == {"script": {"scenes": [{"narration": "Hello"}]}}


@pytest.mark.parametrize(
    ("columns", "cells", "said"),
    [
        ("operation,image", "animate,x", 'operation: "animate" is not one of create, image-to-'),
        ("operation,title", "image-to-video,x", "asks for image-to-video and has no image"),
        ("operation,clip", "talking-avatar,x", "asks for talking-avatar and has no script"),
        ("operation,clip", "character-swap,x", "has no photos or character_id"),
        ("operation,clip,photos,character_id", "character-swap,x,y,1", "has both photos and"),
        ("operation,image,duration_seconds", "image-to-video,x,7", '"7" is not 5 or 10 seconds'),
        ("operation,clip,photos,duration_seconds", "character-swap,x,y,61", "is not from 3 to 60"),
        ("operation,image,tool", "image-to-video,x,explainer", "is not for image-to-video"),
        ("operation,image,fields.product", "image-to-video,x,y", "is not for image-to-video"),
        ("tool,image", "explainer,x", "is for a row whose operation is one of"),
        ("tool,body.x", "explainer,x", "is for a row whose operation is one of"),
        ("operation,image,body.idempotency_key", "image-to-video,x,k", "is set by Callsheet"),
    ],
)
def test_what_does_not_fit_is_named_with_its_cell(refuse, columns, cells, said):
    (problem,) = refuse(f"id,{columns}\na,{cells}\n")
    assert said in problem
