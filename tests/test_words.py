"""Words that were retired: a plain one has taken the place of each, in code, messages and docs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repository import PROGRAM, tracked

ROOT = Path(__file__).parents[1]
#: Retired word (the start of it) -> the word to use.
RETIRED = {"film": "video"}


def texts() -> Iterator[tuple[str, str]]:
    """Yield each text file of the repository that users or developers read: its path and text."""
    for path in tracked(*PROGRAM, "configs", "docs", "README.md"):
        try:
            yield path, (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


@pytest.mark.parametrize("word", RETIRED)
def test_a_retired_word_is_nowhere(word: str) -> None:
    # A word inside a name counts as well: `make_film`, `FilmPlan`.
    start = re.compile(rf"(?<![a-z]){word}|{word.capitalize()}", re.ASCII)
    found = [
        f"{path}:{number}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if word in path or start.search(line)
    ]
    assert found == [], f"write {RETIRED[word]}"


def test_every_word_of_the_page_has_one_meaning() -> None:
    page = (ROOT / "docs" / "words.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", page, re.MULTILINE)
    said = [word for cell in words if cell != "word" for word in cell.split(", ")]

    assert 20 < len(said) < 45
    assert [word for word in said if said.count(word) > 1] == []
