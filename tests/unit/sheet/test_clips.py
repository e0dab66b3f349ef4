"""Rows that ask for a clip instead of a video."""

from __future__ import annotations

import pytest

IMAGE = "https://img.example/kettle.png"
CLIP = "https://clips.example/anna.mp4"


@pytest.mark.parametrize(
    ("columns", "cells", "request_"),
    [
        ("operation,image,duration_seconds,narration,title",
         f"Image to Video,{IMAGE},10,Good morning.,Kettle",
         {"image": IMAGE, "duration_seconds": 10, "narration": "Good morning.", "title": "Kettle"}),
        # A script is spoken as it is written.
        ("operation,clip,script", f'talking-avatar,{CLIP},"One.\n\nTwo."',
         {"clip": CLIP, "script": "One.\n\nTwo."}),
        ("operation,clip,photos,duration_seconds", f"character-swap,{CLIP},{IMAGE} {IMAGE}2,3",
         {"clip": CLIP, "photos": [IMAGE, f"{IMAGE}2"], "duration_seconds": 3}),
        ("operation,clip,character_id,duration_seconds", f"character-swap,{CLIP},12,60",
         {"clip": CLIP, "character_id": 12, "duration_seconds": 60}),
        # What the service calls by another name is passed through.
        ("operation,body.image_url,body.motion,body.tags,body.strength",
         f'image-to-video,{IMAGE},slow,"[""x""]",5',
         {"image_url": IMAGE, "motion": "slow", "tags": ["x"], "strength": 5}),
    ],
)  # fmt: skip
def test_a_row_becomes_the_request_of_its_operation(read, columns, cells, request_):
    (brief,) = read(f"id,{columns}\na,{cells}\n").briefs
    assert brief.operation == cells.partition(",")[0].lower().replace(" ", "-")
    assert (brief.request, brief.captions) == (request_, ())


def test_captions_of_a_clip_are_asked_for_where_somebody_wants_them(read):
    (brief,) = read(f"id,operation,image,captions\na,image-to-video,{IMAGE},srt\n").briefs
    assert brief.captions == ("srt",)


def test_a_video_and_a_clip_of_the_same_words_are_different_briefs(read):
    (image,) = read(f"operation,image\nimage-to-video,{IMAGE}\n").briefs
    (clip,) = read(f"operation,clip,script\ntalking-avatar,{IMAGE},Hi\n").briefs
    assert image.row != clip.row
    assert image.digest != clip.digest


def test_a_default_that_is_not_for_a_row_is_left_out(read):
    clip = f"  - {{id: a, operation: image-to-video, image: '{IMAGE}'}}\n"
    rows = f"rows:\n{clip}  - {{id: b}}\n  - {{id: c, script: Hello}}\n"
    defaults = "{operation: create, tool: explainer, mode: hybrid, fields: {a: x}}"
    clip, video, own = read(f"defaults: {defaults}\n{rows}", "campaign.yaml").briefs
    assert clip.request == {"image": IMAGE}
    assert video.request == {"tool": "explainer", "mode": "hybrid", "fields": {"a": "x"}}
    assert own.request["script"] == {"scenes": [{"narration": "Hello"}]}
    assert "tool" not in own.request


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
