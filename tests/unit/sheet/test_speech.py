"""How long a script takes to speak: advice where nobody can say it in the seconds that it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from callsheet.tasks.sheet.speech import WORDS, speech_of, too_long

PAGE = Path(__file__).parents[3] / "docs" / "sheets.md"


def scenes(*texts: str) -> dict[str, object]:
    return {"script": {"scenes": [{"narration": text} for text in texts]}}


@pytest.mark.parametrize(
    ("request_", "amount", "fast", "slow"),
    [
        ({**scenes("one two", "three"), "language": "en"}, "3 words", 1, 2),
        ({**scenes("word " * 33), "language": "en-GB"}, "33 words", 10, 15),
        ({**scenes("Wort " * 33), "language": "de"}, "33 words", 11, 18),
        ({**scenes("word " * 36)}, "36 words", 10, 23),
        ({**scenes("[Music] rock'n'roll, 2.5 well-known"), "language": "en"}, "3 words", 1, 2),
        ({**scenes("日本語です。" * 8), "language": "ja"}, "40 characters", 5, 8),
        ({"script": "four words are here", "language": "en"}, "4 words", 2, 2),
        ({"narration": "four words are here", "language": "en"}, "4 words", 2, 2),
    ],
)
def test_a_script_takes_a_range_of_seconds(request_, amount, fast, slow):
    assert speech_of(request_) == (amount, fast, slow)


@pytest.mark.parametrize(
    "request_", [{}, {"tool": "t"}, {"script": {"voice": 5}}, scenes("[Music]"), scenes(" ")]
)
def test_what_has_no_text_takes_no_time(request_):
    assert speech_of(request_) is None
    assert too_long({**request_, "duration_seconds": 1}) is None


def test_a_script_that_is_too_long_gets_advice(read):
    rows = ["id,script,duration_seconds,language,enabled"]
    rows += [f"a,{'word ' * 60},10,en,yes", f"b,{'word ' * 60},19,en,yes", f",{'w ' * 60},10,en,"]
    rows += [f"off,{'word ' * 60},10,en,no", f"c,{'word ' * 60},,en,yes"]
    found = [str(one) for one in read("\n".join(rows)).advice]
    words = "has 60 words, which take 19 to 28 seconds to speak in en; the row asks for 10: "
    words += "shorten it, or ask for a longer video"
    assert found[1:] == [
        f'campaign.csv:2 row "a", column script {words}',
        f"campaign.csv:4 column script {words}",
    ]


def test_the_page_of_sheets_has_the_fastest_pace_of_four_languages():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    fast = {language: WORDS[language][1] for language in ("en", "de", "es", "fr")}
    said = "in English, {en} words a second; German {de}, Spanish {es}, French {fr}."
    assert said.format(**fast) in text
