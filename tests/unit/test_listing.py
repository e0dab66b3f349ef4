"""What people see of a plan and of rows on a terminal of 80 columns: nothing is cut."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import pytest
from rich.console import Console

from callsheet.deployments.listing import ListedLine, show_lines
from callsheet.deployments.tables import show_plan, show_rows
from callsheet.tasks.campaign.report import sums_of
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.ledger.row_views import ShownRow
from callsheet.tasks.ledger.values import State
from tests.campaigns import a_shown_row

VIDEO = "file:///" + "a-folder/" * 9 + "video.mp4"


def made(row: str, state: State, uri: str, **own: Any) -> ShownRow:
    files = {"mp4": {"uri": uri, "sha256": "a" * 64, "bytes": 9, "seconds": 5.0}}
    said = {"take": 1, "video_take": 1, "files_text": json.dumps(files)}
    return a_shown_row(row=row, state=state, **said, **own)


def terminal() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=80, force_terminal=True, color_system=None, highlight=False), out


def line(row: str = "a", price: int | None = 12, **own: Any) -> PlanLine:
    asked = {"action": "make", "tool": "explainer", "ratio": "9:16", "language": "en", **own}
    priced = None if price is None else Decimal(price)
    return PlanLine(row=row, title="Tea", digest="d", priced=priced, **asked)


def plan(*lines: PlanLine, **own: Any) -> Plan:
    return Plan(campaign="spring", sheet="s.csv", sheet_digest="d", lines=lines, **own)


def shown(wanted: Plan) -> str:
    console, out = terminal()
    show_plan(wanted, console)
    assert max(map(len, out.getvalue().splitlines())) <= 80
    return out.getvalue()


def test_a_plan_shows_what_decides_its_price():
    text = shown(plan(line("a", length=20), line("b", 65, language="de"), line("c" * 60, length=8)))
    assert "all 3 rows: make, by explainer, ratio 9:16\n" in text
    assert [part.split() for part in text.splitlines()[2:5]] == [
        ["row", "length", "lang", "credits"],
        ["a", "20", "s", "en", "12"],
        ["b", "auto", "de", "65"],
    ]
    assert "c" * 60 in text
    assert "(auto: not set in the row, the service decides)" in text


def test_a_plan_shows_the_brand_or_the_tags_and_the_limit_that_is_too_low():
    dear = {"action": "person", "state": "held", "why": "it costs 12 credits"}
    lines = [
        line("a", length=8, brand="Acme", tags=("spring", "shop")),
        line("b", length=8, brand="A very long brand name", max_credits=Decimal(10), **dear),
        line("c", length=8, max_credits=Decimal(12)),
    ]
    told = [part.split() for part in shown(plan(*lines)).splitlines()]
    assert ["row", "what", "brand", "credits", "why"] in told
    assert "A very long… 12 (max 10)" in " ".join(map(" ".join, told))
    assert ["c", "make", "-", "12"] in told
    assert "tags" in shown(plan(line("a", tags=("spring",)), line("b")))


def test_a_plan_shows_the_first_rows_or_all():
    wanted = plan(*(line(f"r{n}", n, length=8) for n in range(60)))
    text = shown(wanted)
    assert "r39 " in text
    assert "r40 " not in text
    assert "... and 20 more rows (`callsheet plan SHEET --all` shows every row)" in text
    console, out = terminal()
    show_plan(wanted, console, whole=True)
    assert "r59 " in out.getvalue()
    assert "more rows" not in out.getvalue()


CASES: list[tuple[Plan, str]] = [
    (plan(line(length=8)), "1 video for 12 credits"),
    (plan(line(price=1, length=8), line("b", 0, length=8)), "2 videos for 1 credit"),
    (plan(line(action="none")), "nothing to do, 0 credits; 1 delivered before, 0 credits"),
    (plan(line(action="person"), line("b", action="none")),
     "1 row needs attention first, 0 credits; 1 delivered before, 0 credits"),
    (plan(line(action="fetch")), "1 row is already paid for and continued, 0 credits"),
    (plan(line(), line("b")), "2 rows leave the length to the service; their prices are for a "
     "length it did not say"),
    (plan(line(priced_for=30.0)), "1 row leaves the length to the service; its price is for 30 s"),
    (plan(line(priced_for=8.0), line("b", priced_for=30.0), line("c")),
     "their prices are for 8 to 30 s where it said so"),
    (plan(line(length=8), balance=Decimal(11)), "the service's account has 11 credits: "
     "1 credit short for this plan"),
    (plan(line(length=8), balance=Decimal(12)), "the service's account has 12 credits"),
    (plan(line(length=8), budget=Decimal(40), committed=Decimal(20)),
     "budget of the campaign, over every run: 40 credits, 20 reserved or charged before, "
     "8 left after this plan"),
    (plan(line(length=8), budget=Decimal(20), committed=Decimal(60)), "52 over it after this plan"),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "words"), CASES)
def test_a_plan_says_what_it_comes_to(wanted: Plan, words: str):
    assert words in "\n".join(sums_of(wanted))


def test_a_path_is_never_cut():
    row = made("a", "held", VIDEO, reason="needs 15 credits, and 5 of the 20 are left: raise it")
    console, out = terminal()
    show_rows("spring", [row], console)
    lines = out.getvalue().splitlines()
    assert VIDEO in [part.strip() for part in lines]
    assert "the video of take 1 stays" in " ".join(part.strip() for part in lines)
    assert all(len(part) <= 80 for part in lines if VIDEO not in part)


def test_a_folder_that_all_long_paths_share_is_said_once():
    folder = f"s3://{'b' * 70}/x/"
    rows = [made(f"r{n}", "delivered", f"{folder}r{n}.mp4") for n in (1, 2)]
    console, out = terminal()
    show_rows("c", rows, console)
    assert f"videos are in {folder}\n" in out.getvalue()
    shown = [part.split()[-1] for part in out.getvalue().splitlines()[2:4]]
    assert shown == ["r1.mp4", "r2.mp4"]


def test_words_in_wide_letters_stay_in_their_column():
    console, out = terminal()
    lines = [
        ListedLine(("茶", "held"), "a", None, ((1, "yellow"),)),
        ListedLine(("tea", "failed"), "b"),
    ]
    show_lines(console, ("row", "state", "why"), lines)
    assert out.getvalue().splitlines() == [
        "row  state   why", "茶   held    a", "tea  failed  b",
    ]  # fmt: skip
