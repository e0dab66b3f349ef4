"""The videos page without scripts: what it shows, and every decision as a plain form."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest

from callsheet.tasks.ledger.reviews import Review, Side
from callsheet.tasks.ledger.row_history import whole_row
from tests.board.conftest import OpenBoard
from tests.board.with_videos import another_take, with_videos
from tests.campaigns import Stage

pytestmark = pytest.mark.merge

PAGE = "/c/spring/videos"


async def said(stage: Stage, row: str, side: Side = "team") -> Review | None:
    """What stands of the newest video of a row."""
    whole = await stage.ledger.read(whole_row, campaign_id=stage.campaign.id, row=row)
    return whole.shown.review if side == "team" else whole.shown.client


def rows_on(page: httpx.Response) -> list[str]:
    return re.findall(r'class="card video-card" id="video-([^"]+)"', page.text)


def open_on(page: httpx.Response) -> str:
    (row,) = re.findall(r'id="about" class="about" data-row="([^"]+)"', page.text)
    return row


class Forms(HTMLParser):
    """The forms of a page: where each goes, and its hidden fields."""

    def __init__(self, page: httpx.Response) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(page.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append((given.get("action", ""), {}))
        if tag == "input" and given.get("type") == "hidden" and self.found:
            self.found[-1][1][given["name"]] = given["value"]


async def press(
    browser: httpx.AsyncClient, page: httpx.Response, where: str, **pressed: Any
) -> httpx.Response:
    """Send the form that goes to an address, as a browser would; follow where it leads."""
    hidden = next(hidden for action, hidden in Forms(page).found if action.endswith(where))
    address = next(action for action, _ in Forms(page).found if action.endswith(where))
    return await browser.post(address, data={**hidden, **pressed})


async def test_it_shows_videos_and_the_first_undecided_one_open(open_board: OpenBoard) -> None:
    await with_videos(open_board.ledger, 3, flagged=[2])
    browser = await open_board.form("viewer")

    page = await browser.get(PAGE)

    assert rows_on(page) == ["row-1", "row-2", "row-3"]
    assert open_on(page) == "row-1"
    assert page.text.count("<video") == 1
    assert "silent from 3 s on" in page.text
    assert "copper &amp; &lt;b&gt;patience" in page.text


async def test_a_verdict_goes_on_to_the_next_video_and_is_taken_back(open_board: OpenBoard) -> None:
    stage = await with_videos(open_board.ledger, 3)
    browser = await open_board.form("reviewer")

    page = await press(browser, await browser.get(PAGE), "/row-1/review", verdict="keep")
    assert open_on(page) == "row-2"
    page = await press(browser, page, "/row-2/review", verdict="reject")
    assert (open_on(page), "Why?" in page.text) == ("row-2", True)
    pressed = {"reason": "wording", "note": 'say "kettle"'}
    page = await press(browser, page, "/row-2/review", **pressed)
    assert open_on(page) == "row-3"

    kept, rejected = [await said(stage, row) for row in ("row-1", "row-2")]
    assert (kept.verdict, kept.by) == ("keep", "Rita")
    wanted = ("reject", "wording", 'say "kettle"')
    assert (rejected.verdict, rejected.reason, rejected.note) == wanted
    page = await browser.get(f"{PAGE}?open=row-2")
    page = await press(browser, page, "/row-2/review", verdict="reject", note="")
    assert (await said(stage, "row-2")).note is None
    page = await browser.get(f"{PAGE}?open=row-2")
    await press(browser, page, "/row-2/review", verdict="")
    assert await said(stage, "row-2") is None


async def test_who_decides_second_is_told_who_was_first(open_board: OpenBoard) -> None:
    stage = await with_videos(open_board.ledger, 1)
    first, second = await open_board.form("reviewer"), await open_board.form("approver")
    theirs = await second.get(PAGE)
    await press(first, await first.get(PAGE), "/row-1/review", verdict="reject", reason="voice")

    page = await press(second, theirs, "/row-1/review", verdict="keep")

    assert page.status_code == 409
    assert "rejected by Rita: voice" in page.text
    assert await said(stage, "row-1") is not None
    again = await press(second, page, "/row-1/review", verdict="keep")
    assert again.status_code == 200
    review = await said(stage, "row-1")
    assert (review.verdict, review.by) == ("keep", "Ann")


FILTERS = {
    "review=none": ["row-2", "row-3", "row-4"],
    "review=keep": ["row-1"],
    "review=reject": [],
    "language=de": ["row-3"],
    "flagged=yes": ["row-4"],
    "sort=worst": ["row-4", "row-1", "row-2", "row-3"],
    "q=part 2": ["row-2"],
    "select=row-1,row-3,!review:keep": ["row-3"],
}


async def test_filters_and_order_are_in_the_address(open_board: OpenBoard) -> None:
    await with_videos(open_board.ledger, 4, flagged=[4])
    browser = await open_board.form("reviewer")
    await press(browser, await browser.get(PAGE), "/row-1/review", verdict="keep")

    found = {asked: rows_on(await browser.get(f"{PAGE}?{asked}")) for asked in FILTERS}

    assert found == FILTERS


async def test_videos_that_were_ticked_are_decided_at_once(open_board: OpenBoard) -> None:
    stage = await with_videos(open_board.ledger, 4)
    browser = await open_board.form("reviewer")
    page = await browser.get(PAGE)
    none = await press(browser, page, "/verdicts", verdict="keep")
    assert (none.status_code, "nothing was decided" in none.text) == (422, True)
    await press(browser, page, "/row-1/review", verdict="reject")

    page = await press(browser, page, "/verdicts", verdict="keep", row=["row-1", "row-2"])

    assert "1 video kept. 1 video decided otherwise before stay as they are." in page.text
    decided = [await said(stage, f"row-{n}") for n in (1, 2, 3)]
    assert [one and one.verdict for one in decided] == ["reject", "keep", None]


@pytest.mark.always
async def test_all_that_match_are_those_the_page_counted(open_board: OpenBoard) -> None:
    stage = await with_videos(open_board.ledger, 6)
    browser = await open_board.form("reviewer")
    page = await browser.get(f"{PAGE}?language=de")

    page = await press(browser, page, "/verdicts", verdict="reject", all="yes", reason="voice")

    assert "2 videos rejected." in page.text
    decided = {f"row-{n}": await said(stage, f"row-{n}") for n in range(1, 7)}
    assert [row for row, one in decided.items() if one] == ["row-3", "row-6"]


@pytest.mark.merge
async def test_the_take_before_is_beside_it_with_what_was_said(open_board: OpenBoard) -> None:
    stage = await with_videos(open_board.ledger, 1)
    browser = await open_board.form("reviewer")
    page = await browser.get(PAGE)
    pressed = {"reason": "brand", "note": "old logo"}
    await press(browser, page, "/row-1/review", **pressed)
    await another_take(stage, "row-1")

    page = await browser.get(PAGE)
    beside = await browser.get(f"{PAGE}?open=row-1&compare=yes")

    assert "Compare with take 1" in page.text
    assert "old logo" in page.text
    assert page.text.count("<video") == 1
    assert beside.text.count("<video") == 2
    assert await said(stage, "row-1") is None


async def test_what_is_new_since_the_last_visit_is_a_choice(open_board: OpenBoard) -> None:
    await with_videos(open_board.ledger, 1)
    browser = await open_board.form("viewer")

    first = await browser.get(PAGE)
    (cookie,) = [one for one in browser.cookies.jar if one.name == "seen"]
    browser.cookies.set("seen", "1900.0", domain=cookie.domain, path=cookie.path)
    later = await browser.get(PAGE)

    assert "my last visit" not in first.text
    assert rows_on(await browser.get(f"{PAGE}?since=1900")) == []
    assert "since=1900" in later.text


async def test_a_campaign_or_video_that_is_not_there(open_board: OpenBoard) -> None:
    await with_videos(open_board.ledger, 1)
    browser = await open_board.form("viewer")

    assert "None of 1 video matches" in (await browser.get(f"{PAGE}?q=nothing+like+that")).text
    assert (await browser.get("/c/autumn/videos")).status_code == 404
    assert (await browser.get(f"{PAGE}?open=row-9")).status_code == 404


async def test_a_second_page_follows_forty(open_board: OpenBoard) -> None:
    await with_videos(open_board.ledger, 60)
    browser = await open_board.form("viewer")

    page = await browser.get(PAGE)
    (more,) = re.findall(r'id="more" href="([^"]+)"', page.text)
    second = await browser.get(more.replace("&amp;", "&"))

    assert [len(rows_on(one)) for one in (page, second)] == [40, 20]
    assert len({*rows_on(page), *rows_on(second)}) == 60


@pytest.mark.safeguard(
    "deployments/board/board.py", "if right not in person.guest.rights:", "if False:"
)
@pytest.mark.parametrize("decides", [False, True])
async def test_a_link_decides_in_its_own_name(open_board: OpenBoard, decides: bool) -> None:
    stage = await with_videos(open_board.ledger, 2)
    made = await open_board.link(*(["decide"] if decides else ["see"]), all_videos=True)
    mara = await open_board.guest(made["address"])

    page = await mara.get(PAGE)
    given = {"take": 1, "verdict": "keep"}
    answer = await mara.post(f"{PAGE}/row-1/review", data=given)

    assert rows_on(page) == ["row-1", "row-2"]
    assert "Download" not in page.text
    assert not re.findall(r'href="(?!/c/spring/videos|/static|/videos|#|\?)[^"]*"', page.text)
    assert answer.status_code == (303 if decides else 403)
    review = await said(stage, "row-1", "client")
    assert (review.verdict if review else None) == ("keep" if decides else None)
    assert await said(stage, "row-1") is None
    if review:
        assert "Mara" in review.by
