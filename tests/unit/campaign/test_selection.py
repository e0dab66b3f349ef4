"""`--select` chooses rows by what they are."""

from __future__ import annotations

import pytest

from tasks.campaign.selection import parse_selection
from tasks.errors import BadInput
from tests.campaigns import brief

ROW = brief("Draft-7", "Green Tea", tags=("launch", "Wave 2"), cost_center="42")


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        (None, True),
        ("", True),
        (" , ", True),
        ("draft-7", True),
        ("draft-*", True),
        ("!draft-*", False),
        ("draft-8|draft-?", True),
        ("row:draft-7", True),
        ("tag:launch", True),
        ("tag:wave*", True),
        ("tag:lau", False),
        ("!tag:launch", False),
        ("cost_center:4?", True),
        ("topic:*tea", True),
        ("aspect_ratio:9:16", True),
        ("aspect_ratio:1:1|16:9", False),
        ("language:", True),
        ("language:de", False),
        ("state:planned", True),
        ("state:failed|planned", True),
        ("draft-*,tag:launch", True),
        ("draft-*,tag:other", False),
    ],
)
def test_terms(text, chosen):
    assert parse_selection(text)(ROW, ROW.request, "planned") is chosen


def test_an_unknown_name_is_refused():
    with pytest.raises(BadInput, match='does not know "colour"') as caught:
        parse_selection("colour:red")
    assert "aspect_ratio" in (caught.value.remedy or "")
