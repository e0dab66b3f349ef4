"""The bodies of clips, which the specification describes in words only: names, bounds."""

from __future__ import annotations

import pytest

from callsheet.deployments.direct.body import body_of
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.requests import CharacterSwap, ImageToVideo, TalkingAvatar

IMAGE, CLIP = {"image": "https://f.test/a.png"}, {"clip": "https://f.test/c.mp4"}
PHOTOS = CLIP | {"photos": ["p1", "p2"]}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        *((ImageToVideo, IMAGE | {"duration_seconds": n}) for n in (5, 10)),
        (ImageToVideo, IMAGE | {"narration": "Hello."}),
        *((TalkingAvatar, CLIP | {"script": s}) for s in ("Hi.", {"scenes": [{"text": "Hi."}]})),
        *((CharacterSwap, PHOTOS | {"duration_seconds": n}) for n in (3, 60)),
        (CharacterSwap, CLIP | {"character_id": 0}),
    ],
)
def test_a_body_holds_what_was_given_and_nothing_else(kind, body):
    assert body_of(kind, **body) == body
    assert body_of(kind, **body, title=None) == body


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        *(
            (ImageToVideo, IMAGE | {"duration_seconds": n}, f"5 or 10 seconds, not {n}")
            for n in (0, 4, 6, 11)
        ),
        *(
            (CharacterSwap, PHOTOS | {"duration_seconds": n}, f"3 to 60 seconds, not {n}")
            for n in (2, 61)
        ),
        *(
            (CharacterSwap, CLIP | who, "either photos or a character")
            for who in ({}, {"photos": ["p"], "character_id": 7}, {"photos": []})
        ),
        (ImageToVideo, IMAGE | {"narration": 7}, r"narration: .*valid string"),
    ],
)
def test_what_cannot_be_made_is_not_sent(kind, body, said):
    with pytest.raises(BadInput, match=said):
        body_of(kind, **body)
