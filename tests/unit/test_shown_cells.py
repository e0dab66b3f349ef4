"""What stands in the cells of Prefect's tables, drawn by Markdown, and under which key."""

from __future__ import annotations

import pytest

from callsheet.flows.shown.artifacts import cell, key_of, link, words_cell

CELLS = [
    ("r001", "r001"),
    ("night_shift_mug", "night_shift_mug"),
    ("tea *for two*", r"tea \*for two\*"),
    ("_so_ [x](y) <b>", r"\_so\_ \[x](y) \<b>"),
    ("~~gone~~ ~5", r"\~~gone\~~ ~5"),
    ("- 4", r"\- 4"),
    ("-4", "-4"),
    ("12. of May", r"12\. of May"),
    ("two\n lines", "two\u21b5 lines"),
    ("two\r\n::error::\x85\u2028\x9b\u202e", "two\u21b5::error::\u21b5\u21b5\ufffd\ufffd"),
    ("run `callsheet retake a *`, or *not*", r"run `callsheet retake a *`, or \*not\*"),
    ("one ` alone *", r"one \` alone \*"),
    (
        "at https://videos.example/a.mp4?X-Amz-Signature=abc",
        r"at https://videos.example/a.mp4?\*\*\*",
    ),
]


@pytest.mark.parametrize(("text", "shown"), CELLS)
def test_a_cell_shows_letters_as_they_are_and_no_secret(text: str, shown: str) -> None:
    assert cell(text) == shown


def test_a_sentence_is_broken_and_a_link_is_whole() -> None:
    assert words_cell("word " * 12) == ("word " * 7).strip() + "  \n" + ("word " * 5).strip()
    assert (
        link("a]b", "https://x.example/a (1).mp4") == r"[a\]b](https://x.example/a%20%281%29.mp4)"
    )


NAMES = ["spring", "Spring", "Frühling 2027", "Fruhling-2027", "春", "a" * 90, "a" * 91]


@pytest.mark.parametrize("name", NAMES)
def test_a_key_is_one_that_prefect_takes_and_of_one_campaign(name: str) -> None:
    key = key_of(name, "rows")
    assert key.startswith("callsheet-")
    assert key.endswith("-rows")
    assert set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert [key_of(other, "rows") for other in NAMES].count(key) == 1
