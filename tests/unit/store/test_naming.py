"""What deliveries are called."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.tasks.runtime.errors import ConfigurationError
from callsheet.tasks.runtime.known_settings import KNOWN
from callsheet.tasks.store import object_name

DEFAULT_TEMPLATE = KNOWN["names"][0] or ""
NAME = {"campaign": "spring", "row": "ad-1", "take": 2}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("mp4", "spring/ad-1/ad-1-take2.mp4"),
        ("srt", "spring/ad-1/ad-1-take2.srt"),
        ("vtt", "spring/ad-1/ad-1-take2.vtt"),
    ],
)
def test_captions_stand_beside_their_video(kind, expected) -> None:
    assert object_name(DEFAULT_TEMPLATE, **NAME, kind=kind) == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{row}", "ad-1.srt"),
        ("{row}.{kind}", "ad-1.srt"),
        ("{kind}/{row}.mp4", "srt/ad-1.srt"),
        ("{row}-{take:03d}.MP4", "ad-1-002.srt"),
        ("/{campaign}//./{row}.mp4", "spring/ad-1.srt"),
        ("{row}{{x}}.mp4", "ad-1-x-.srt"),
    ],
)
def test_templates(template, expected) -> None:
    assert object_name(template, **NAME, kind="srt") == expected


@pytest.mark.parametrize(
    "template",
    ["{rwo}.mp4", "{row.__class__}", "{row[0]}", "{row!r}", "{row:>9}", "{0}", "{}", "{row", "a}",
     "{take:999999999d}", "../{row}", "a/../{row}"],
)  # fmt: skip
def test_wrong_templates_are_refused_with_what_is_known(template) -> None:
    with pytest.raises(ConfigurationError) as caught:
        object_name(template, **NAME, kind="mp4")
    assert template in str(caught.value)


def test_an_unknown_placeholder_lists_the_known_ones() -> None:
    with pytest.raises(ConfigurationError) as caught:
        object_name("{rwo}", **NAME, kind="mp4")
    assert "{campaign}, {row}, {take}, {kind}" in (caught.value.remedy or "")


@pytest.mark.parametrize("row", ["con", "NUL", "com1", "aux.tar", "lpt9"])
def test_device_names_of_windows_get_a_prefix(row) -> None:
    name = object_name("{row}/{row}-take{take}", campaign="c", row=row, take=1, kind="mp4")
    assert name.startswith("_")


def test_rows_that_look_alike_once_cleaned_stay_apart() -> None:
    rows = ["a/b", "a:b", "a-b", "a\\b", "a\x00b", " a-b", "a-b.", "..", "."]
    names = {object_name(DEFAULT_TEMPLATE, campaign="c", row=r, take=1, kind="mp4") for r in rows}
    assert len(names) == len(rows)


def test_the_same_name_written_in_two_ways_is_one_name() -> None:
    for form in ("NFC", "NFD"):
        campaign = unicodedata.normalize(form, "Frühling")
        name = object_name("{campaign}/{row}", campaign=campaign, row="a", take=1, kind="mp4")
        assert name == "Frühling/a.mp4"


@given(
    campaign=st.text(max_size=300),
    row=st.text(max_size=300),
    take=st.integers(1, 999),
)
def test_no_value_makes_a_harmful_name(campaign, row, take) -> None:
    name = object_name("{campaign}/{row}/{take}", campaign=campaign, row=row, take=take, kind="mp4")
    segments = name.split("/")
    assert len(segments) == 3
    assert all(
        part and part.strip(". ") == part.rstrip(". ") for part in segments if part[0] != "."
    )
    assert not {"", ".", ".."} & set(segments)
    assert not any(unicodedata.category(letter) == "Cc" or letter in '\\:*?"<>|' for letter in name)
    name.encode()
