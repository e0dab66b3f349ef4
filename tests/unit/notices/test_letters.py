"""A digest as a page, as text and as a few lines for a chat."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from decimal import Decimal
from html import unescape

import pytest

from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices.action_items import (
    CampaignFigures,
    Contents,
    Expiring,
    Letter,
    NewVideo,
    matters_of,
)
from callsheet.tasks.notices.emails import alarm_letter, digest_letter
from callsheet.tasks.notices.publish import sample_letter
from callsheet.tasks.notices.send import chat_text
from callsheet.tasks.values.amounts import CreditPrice
from tests.unit.notices.made_nights import BROKEN, DEAR, FAILED, at, night

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


def seen(html: str) -> str:
    """Return the words of a page."""
    body = re.sub(r"<style>.*?</style>", "", html, flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


@pytest.mark.parametrize(
    "words",
    [
        "1 video needs you",
        "40 videos for 120 credits wait for your approval",
        "1 problem in broken.csv",
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
    ],
)
def test_page_and_text_tell_the_same(words: str) -> None:
    letter = digest_letter(FULL)

    assert words.lower() in seen(letter.html).lower()
    assert words.lower() in seen(letter.bare).lower()
    assert words.lower() in " ".join(letter.text.split()).lower()


def test_charges_are_in_money_too_where_a_credit_has_a_price() -> None:
    letter = digest_letter(replace(FULL, credit_price=CreditPrice(Decimal("0.5"), "EUR")))
    for told in (seen(letter.html), letter.text):
        assert "6 credits (3.00 EUR) this night" in told
        assert "4 (2.00 EUR) a kept video" in told
    assert "6 credits (3.00 EUR) in this run" in letter.short
    assert "EUR" not in digest_letter(FULL).text


def test_every_decision_has_one_link_in_each_form() -> None:
    letter = digest_letter(FULL)

    for link in (f"{BOARD}/c/spring/attention", f"{BOARD}/plans/p1"):
        found = [form.count(link) for form in (letter.html, letter.text, letter.short)]
        # The plan of a sheet is also what its campaign is led to.
        assert found == [1, 1, 1], link


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
    bare = replace(
        FULL,
        board=None,
        lines=(replace(LINE, link=None),),
        videos=(replace(FULL.videos[0], link=None),),
        matters=tuple(matters_of(night("2026-11-22", FAILED))),
    )
    letter = digest_letter(bare)

    assert "href" not in letter.html
    assert "callsheet rows spring" in letter.text
    assert "callsheet rows spring" in seen(letter.html)


def test_the_sample_says_that_it_is_one(inbox: Inbox) -> None:
    letter = sample_letter(inbox, now=at("2026-11-22", "12:00"))

    assert (
        letter.subject == "Sample: spring: 41 of 42 videos ready, 1 needs you, 126 of 200 credits"
    )
    assert "nothing of it has happened" in letter.text
    assert "nothing of it has happened" in seen(letter.html)
    assert "First light" in seen(letter.html)


def test_an_alarm_sets_what_is_to_be_typed_apart() -> None:
    letter: Letter = alarm_letter("s", ("try `callsheet <nights>`",), inbox="x", link=BOARD)

    assert "callsheet &lt;nights&gt;</code>" in letter.html
    assert "try `callsheet <nights>`" in letter.text
    assert BOARD in letter.short
