"""A digest as a page, as text and for a chat; its subject is the verdict of the night."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from html import unescape

import pytest

from callsheet.tasks.nights.reports import SheetReport
from callsheet.tasks.notices.action_items import (
    CampaignFigures,
    Contents,
    Expiring,
    Matter,
    NewVideo,
    matters_of,
)
from callsheet.tasks.notices.emails import digest_letter, subject_of
from callsheet.tasks.notices.send import chat_text
from callsheet.tasks.values.amounts import CreditPrice
from tests.unit.notices.made_nights import ASIDE, BROKEN, DEAR, FAILED, MADE, at, night

BOARD = "https://board.example"
#: What no mail program and no chat may take for its own.
HOSTILE = '<script>alert(1)</script> [x](https://evil.example) @everyone {{ 7 * 7 }} "q"'
LINE = CampaignFigures(
    sheet="spring.csv",
    campaign="spring",
    outcome="needs-person",
    ready=1,
    total=2,
    needing=1,
    fresh=2,
    tonight=Decimal(6),
    charged=Decimal("12.5"),
    reserved=Decimal(3),
    budget=Decimal(20),
    forecast=Decimal(24),
    per_kept=Decimal(4),
    link=f"{BOARD}/c/spring",
)
FULL = Contents(
    inbox="shop",
    night=date(2026, 11, 22),
    zone="Europe/Berlin",
    lines=(LINE, replace(LINE, sheet="idle.csv", campaign="idle", outcome="unchanged", needing=0)),
    matters=tuple(matters_of(night("2026-11-22", FAILED, DEAR, BROKEN), board=BOARD)),
    videos=(
        NewVideo(campaign="spring", row="a", take=1, title="First light", part="video0",
                jpeg=b"\xff\xd8", link=f"{BOARD}/c/spring/rows/a"),
    ),
    more_videos=1,
    charged=Decimal(6),
    expiring=(Expiring(words="the link to spring for Ann", at=at("2026-11-23", "09:30")),),
    next_at=at("2026-11-23"),
    board=BOARD,
)  # fmt: skip
#: What a page and a text of it say.
TOLD = (
    "1 video needs you",
    "40 videos for 120 credits wait for your approval",
    'line 3, row "x", column language (C3): "gr" is no language',
    "All of it is in broken.csv.report.csv, next to the sheet.",
    "callsheet check broken.csv",
    "2 new videos",
    "First light",
    "12.5 of 20",
    "3 set aside",
    "24 when all are made",
    "4 a kept video",
    "1 other campaign unchanged",
    "link to spring for Ann",
    "Monday 23 November, 09:30",
    "Next night: Monday 23 November, 02:00",
)


def seen(html: str) -> str:
    """Return the words of a page."""
    body = re.sub(r"<style>.*?</style>", "", html, flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_page_and_text_tell_the_same() -> None:
    letter = digest_letter(FULL)

    for form in (seen(letter.html), seen(letter.bare), " ".join(letter.text.split())):
        assert [words for words in TOLD if words.lower() not in form.lower()] == []
    # Of every decision there is one link; the plan of a sheet is what its campaign is led to.
    for link in (f"{BOARD}/c/spring/attention", f"{BOARD}/plans/p1"):
        assert [form.count(link) for form in (letter.html, letter.text, letter.short)] == [1, 1, 1]


def test_charges_are_in_money_too_where_a_credit_has_a_price() -> None:
    letter = digest_letter(replace(FULL, credit_price=CreditPrice(Decimal("0.5"), "EUR")))
    for told in (seen(letter.html), letter.text):
        assert "6 credits (3.00 EUR) this night" in told
        assert "4 (2.00 EUR) a kept video" in told
    assert "6 credits (3.00 EUR) in this run" in letter.short
    assert "EUR" not in digest_letter(FULL).text


def test_nothing_of_a_sheet_is_markup() -> None:
    line = replace(LINE, campaign=HOSTILE, sheet=HOSTILE)
    sheet = replace(FAILED, sheet=HOSTILE, campaign=HOSTILE, words=HOSTILE, needing=(HOSTILE,))
    video = replace(FULL.videos[0], title=HOSTILE, campaign=HOSTILE)
    matters = tuple(matters_of(night("2026-11-22", sheet), board=BOARD))
    hostile = replace(FULL, inbox=HOSTILE, lines=(line,), videos=(video,), matters=matters)
    letter = digest_letter(hostile)

    assert "<script" not in letter.html
    assert "49" not in letter.html.replace("#4949", "")
    assert HOSTILE in unescape(letter.html)
    assert HOSTILE in letter.text
    assert "\n" not in letter.subject


def test_a_chat_calls_nobody_and_marks_nothing() -> None:
    words = "- @everyone *look* <!channel>: https://board.example/c/a_b_c"

    plain = chat_text(words, room=500, marked=False)
    marked = chat_text(words, room=500, marked=True)

    assert "@everyone" not in plain + marked
    assert "\\*look\\*" in marked
    assert "\\<!channel\\>" in marked
    assert plain.endswith("https://board.example/c/a_b_c")
    assert marked.endswith("https://board.example/c/a_b_c")
    assert len(chat_text("x" * 5000, room=160, marked=False)) == 160


def test_a_large_night_is_a_short_mail() -> None:
    sheets = [replace(FAILED, sheet=f"{n}.csv", campaign=f"c{n}") for n in range(80)]
    lines = tuple(replace(LINE, sheet=one.sheet, campaign=one.campaign) for one in sheets)
    matters = tuple(matters_of(night("2026-11-22", *sheets), board=BOARD))
    letter = digest_letter(replace(FULL, lines=lines, matters=matters))

    # Beyond some 100 kB mail programs cut a page.
    assert len(letter.html.encode()) < 70_000
    assert "and 68 more" in seen(letter.html)
    assert "and 68 campaigns more" in seen(letter.html)


def test_pictures_are_parts_of_the_mail_and_nothing_is_fetched() -> None:
    letter = digest_letter(FULL)

    assert letter.pictures == {"video0": b"\xff\xd8"}
    assert 'src="cid:video0"' in letter.html
    assert "cid:" not in letter.bare
    assert not re.search(r"""(src|href)=["']?http(?!s://board\.example)""", letter.html)
    assert "<img" not in letter.bare


def test_without_a_board_there_are_words_to_type() -> None:
    matters = tuple(matters_of(night("2026-11-22", FAILED)))
    videos = (replace(FULL.videos[0], link=None),)
    lines = (replace(LINE, link=None),)
    letter = digest_letter(replace(FULL, board=None, lines=lines, videos=videos, matters=matters))

    assert "href" not in letter.html
    assert "callsheet rows spring" in letter.text
    assert "callsheet rows spring" in seen(letter.html)


SPRING = CampaignFigures(
    sheet="spring.csv",
    campaign="Spring",
    outcome="delivered",
    ready=42,
    total=42,
    charged=Decimal(126),
    budget=Decimal(200),
)
WAITS = replace(SPRING, outcome="needs-person", ready=41, needing=1)
SUMMER = replace(SPRING, sheet="summer.csv", campaign="Summer", ready=8, total=10, under_way=2)
IDLE = replace(SPRING, sheet="idle.csv", campaign="Idle", outcome="unchanged")
REFUSED = CampaignFigures(sheet="broken.csv", campaign=None, outcome="invalid")
UNAPPROVED = CampaignFigures(sheet="dear.csv", campaign="dear", outcome="not-approved", total=40)
SET_ASIDE = replace(REFUSED, outcome="set-aside")


def of(*sheets: SheetReport) -> tuple[Matter, ...]:
    """Return what is the matter with sheets."""
    return tuple(matters_of(night("2026-11-22", *sheets)))


SUBJECTS: list[tuple[Sequence[CampaignFigures], tuple[Matter, ...], str]] = [
    ([SPRING], (), "Spring: 42 of 42 videos ready, 126 of 200 credits"),
    ([WAITS, IDLE], of(FAILED),
     "Spring: 41 of 42 videos ready, 1 needs you, 126 of 200 credits"),
    ([SUMMER], (), "Summer: 8 of 10 videos ready, 2 under way, 126 of 200 credits"),
    ([replace(SUMMER, late=("r3 (by 2026-12-01)",))], (),
     "Summer: 8 of 10 videos ready, 2 under way, 1 late, 126 of 200 credits"),
    ([replace(SPRING, budget=None)], (), "Spring: 42 of 42 videos ready, 126 credits"),
    ([UNAPPROVED], of(DEAR), "dear: 40 videos for 120 credits wait for your approval"),
    ([REFUSED], of(BROKEN), "broken.csv: 1 problem, nothing was made"),
    ([SET_ASIDE], of(ASIDE), "broken.csv: set aside until the sheet changes"),
    ([IDLE], (), "Nothing to do: 1 campaign as it was"),
    ([IDLE, IDLE], (), "Nothing to do: 2 campaigns as they were"),
    ([], (), "Nothing to do: no sheets"),
    ([WAITS, SUMMER, UNAPPROVED, REFUSED], of(FAILED, DEAR, BROKEN),
     "4 campaigns: 49 of 92 videos ready, 1 needs you, 1 approval to give, 1 sheet to fix, "
     "12 credits in this run"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "matters", "subject"), SUBJECTS)
def test_the_subject_is_the_verdict(lines, matters, subject):
    night = date(2026, 11, 22)
    contents = Contents(
        inbox="x", night=night, zone="UTC", lines=tuple(lines), matters=matters, charged=Decimal(12)
    )

    assert subject_of(contents) == subject


def test_what_lasts_stands_first_in_the_subject() -> None:
    before = [night(f"2026-11-{day}", FAILED) for day in (21, 20, 19)]
    matters = tuple(matters_of(night("2026-11-22", FAILED, MADE), before))
    contents = Contents(
        inbox="x", night=date(2026, 11, 22), zone="UTC", lines=(WAITS,), matters=matters[:1]
    )

    assert subject_of(contents).startswith("Waiting for 4 nights – Spring: 41 of 42 videos ready")
