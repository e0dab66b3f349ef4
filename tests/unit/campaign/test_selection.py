"""`--select` chooses rows by what they are."""

from __future__ import annotations

import pytest

from callsheet.tasks.campaign.selection import check_selection, parse_selection
from callsheet.tasks.runtime.errors import BadInput
from tests.campaigns import brief

ROW = brief("Draft-7", "Green Tea", tags=("launch", "Wave 2"), cost_center="42")


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        (None, True),
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
        ("r1,draft-7", True),
        ("r1,row:draft-7", True),
        ("r1,r2", False),
        ("r1,draft-7,tag:launch", True),
        ("r1,draft-7,tag:other", False),
        ("r1,draft-*,!draft-7", False),
        ("!r1,!r2", True),
        ("draft-[7]", False),
    ],
)
def test_terms(text, chosen):
    assert parse_selection(text)(ROW, ROW.request, "planned") is chosen


def test_an_unknown_name_is_refused():
    with pytest.raises(BadInput, match='does not know "colour"') as caught:
        parse_selection("colour:red")
    assert "aspect_ratio" in (caught.value.remedy or "")


ROWS = [
    (ROW, ROW.request, "stalled"),
    (brief("r09", cost_center="MKT-1040"), {"language": "de"}, "delivered"),
]


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        ("r9", 'names "r9", and there is no such row', "did you mean r09? rows that exist: "),
        ("r09,draft-8", 'names "draft-8"', "did you mean Draft-7?"),
        ("!r9", 'names "r9"', "did you mean r09?"),
        ("row:r09|r9", 'names "r9"', "did you mean r09?"),
        ("zzz", 'names "zzz"', "rows that exist: Draft-7, r09"),
        ("x-*", "x-* matches no row", "rows that exist: Draft-7, r09"),
        ("tag:lauch", "tag:lauch matches no row", "did you mean launch? tags that exist: launch, "),
        ("tag:launch,cost_center:mkt-104O", "cost_center:mkt-104O matches no row", "MKT-1040?"),
        ("style:flat", "style:flat matches no row", "no row has a style"),
        ("tag:launch,language:de", "no row matches all of --select tag:launch,language:de", "r09"),
        ("state:stalled,language:fr", "language:fr matches no row", "languages that exist: de"),
        (" , ", "--select is empty", "--select r1,r2"),
        ("", "--select is empty", "every row"),
    ],
)
def test_a_selection_that_cannot_be_meant_is_refused_with_what_exists(text, said, remedy):
    with pytest.raises(BadInput) as caught:
        check_selection(text, ROWS)
    assert said in str(caught.value)
    assert str(caught.value).endswith("; nothing was spent")
    assert remedy in (caught.value.remedy or "")


@pytest.mark.parametrize(
    "text", [None, "tag:launch", "tag:lau*", "!tag:lauch", "state:failed", "r09,state:failed"]
)
def test_what_matches_no_row_only_at_the_moment_is_not_refused(text):
    check_selection(text, ROWS)


def test_an_unknown_name_is_refused_with_what_was_meant():
    with pytest.raises(BadInput) as caught:
        parse_selection("lanuage:de")
    assert (caught.value.remedy or "").startswith("did you mean language? select by row, state")
