"""`--select` chooses rows by what they are."""

from __future__ import annotations

import pytest

from tasks.campaign.selection import parse_selection, refuse_slips
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


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("tag:lauch", "launch"),
        ("tag:other|Lanch", "launch"),
        ("tag:launch,cost_center:mkt-104O", "MKT-1040"),
    ],
)
def test_a_slip_in_a_value_that_chooses_no_row_is_refused(text, meant):
    rows = [(ROW, ROW.request, "planned"), (brief("b", "c", cost_center="MKT-1040"), {}, "planned")]
    with pytest.raises(BadInput, match=f"chooses no row; did you mean {meant}"):
        refuse_slips(text, rows)


@pytest.mark.parametrize("text", [None, "tag:launch", "tag:lau*", "!tag:lauch", "state:failed"])
def test_what_only_happens_to_choose_no_row_is_not(text):
    refuse_slips(text, [(ROW, ROW.request, "stalled")])


def test_an_unknown_name_is_refused_with_what_was_meant():
    with pytest.raises(BadInput) as caught:
        parse_selection("lanuage:de")
    assert (caught.value.remedy or "").startswith("did you mean language? select by row, state")
