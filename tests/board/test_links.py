"""Guest links: what they open, what they do not, and when they end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from callsheet.tasks.ledger.campaigns import ensure_campaign
from tests.board.conftest import OpenBoard, board_at
from tests.board.with_videos import with_videos


@pytest.fixture(autouse=True)
async def campaigns(open_board: OpenBoard) -> None:
    for name in ("spring", "autumn"):
        await open_board.ledger.write(
            ensure_campaign, name=name, sheet="s.csv", sheet_digest="0", at=0.0
        )


async def link(open_board: OpenBoard, **wanted: Any) -> dict[str, Any]:
    made = await open_board.admin.post(
        "/api/v1/links", json={"campaign": "spring", "name": "Mara", **wanted}
    )
    assert made.status_code == 201, made.text
    return dict(made.json())


async def guest(open_board: OpenBoard, address: str) -> httpx.AsyncClient:
    browser = await open_board.client(headers={"origin": open_board.origin, "accept": "text/html"})
    entered = await open_board.press(browser, address)
    assert entered.status_code == 303, entered.text
    assert entered.headers["location"] == "/c/spring/videos"
    return browser


async def test_a_link_opens_more_than_once_and_only_its_campaigns_videos(
    open_board: OpenBoard,
) -> None:
    made = await link(open_board)
    await guest(open_board, made["address"])
    mara = await guest(open_board, made["address"])

    for path in ("/", "/people", "/health", "/activity", "/new", "/c/autumn/videos"):
        assert (await mara.get(path)).status_code == 403, path
    for path in ("me", "people", "campaigns", "campaigns/spring", "activity", "health", "links"):
        assert (await mara.get(f"/api/v1/{path}")).status_code == 403, path


async def test_a_link_that_ended_lets_nobody_in_and_whoever_is_in_out(
    open_board: OpenBoard,
) -> None:
    made = await link(open_board)
    mara = await guest(open_board, made["address"])

    ended = await open_board.admin.delete(f"/api/v1/links/{made['link']}")

    assert ended.json() == {"revoked": True}
    assert (await open_board.nobody.get(made["address"])).status_code == 401
    assert (await mara.get("/")).headers["location"] == "/login?next=/"


@pytest.mark.parametrize(
    ("rights", "campaign", "status"),
    [(["see"], "spring", 403), (["decide"], "autumn", 403), (["decide"], "spring", 404)],
)
async def test_a_link_decides_where_it_may(
    rights: list[str], campaign: str, status: int, open_board: OpenBoard
) -> None:
    made = await link(open_board, rights=rights)
    mara = await guest(open_board, made["address"])

    path = f"/api/v1/campaigns/{campaign}/rows/r1/review"
    answer = await mara.post(path, json={"verdict": "keep", "take": 1})

    # There is no such row: whoever may decide is told so.
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize(("rights", "status"), [(["see"], 403), (["download"], 404)])
async def test_a_link_downloads_where_it_may(
    rights: list[str], status: int, open_board: OpenBoard
) -> None:
    made = await link(open_board, rights=rights)
    mara = await guest(open_board, made["address"])

    seen = await mara.get("/api/v1/videos/spring/r1/1.mp4")
    taken = await mara.get("/api/v1/videos/spring/r1/1.mp4?download")

    assert (seen.status_code, taken.status_code) == (404, status)


async def test_links_are_listed_with_whom_they_are_for(open_board: OpenBoard) -> None:
    await link(open_board, rights=["decide"])

    (listed,) = (await open_board.admin.get("/api/v1/links?campaign=spring")).json()["links"]

    assert listed["name"] == "Mara"
    assert listed["rights"] == ["decide", "see"]
    assert "address" not in listed
    assert (await open_board.admin.get("/api/v1/links?campaign=autumn")).json() == {"links": []}


async def test_a_link_is_for_a_campaign_there_is(open_board: OpenBoard) -> None:
    wanted = {"campaign": "winter", "name": "Mara"}
    assert (await open_board.admin.post("/api/v1/links", json=wanted)).status_code == 422


NOTE = "the old logo, ask legal"


@pytest.mark.parametrize("rights", [["see"], ["decide", "download"]])
async def test_a_guest_sees_verdicts_and_nothing_internal(
    rights: list[str], open_board: OpenBoard
) -> None:
    await rejected_by_rita(open_board)
    mara = await guest(open_board, (await link(open_board, rights=rights))["address"])

    pages = [(await mara.get(f"/c/spring/videos{more}")).text for more in ("", "?open=row-1")]
    pages += [(await mara.get("/c/spring/videos?open=row-1", headers={"hx-request": "1"})).text]

    inside = (await (await open_board.form("viewer")).get("/c/spring/videos?open=row-1")).text
    for secret in ("Rita", NOTE, "off-message", "credits", "copper", "What was asked for"):
        assert secret in inside, secret
        assert not any(secret in page for page in pages), secret
    assert all("rejected" in page for page in pages)


async def test_a_guest_who_decides_learns_no_names_and_takes_no_words_away(
    open_board: OpenBoard,
) -> None:
    await rejected_by_rita(open_board)
    mara = await guest(open_board, (await link(open_board, rights=["decide"]))["address"])
    path = "/api/v1/campaigns/spring/rows/row-1/review"
    json = {"accept": "application/json"}

    other = await mara.post(path, json={"take": 1, "verdict": "keep"}, headers=json)
    same = {"take": 1, "verdict": "reject", "instead_of": "reject", "note": "", "reason": ""}
    again = await mara.post(path, json=same, headers=json)
    form = {"take": 1, "verdict": "reject", "standing": "reject", "note": ""}
    page = await mara.post("/c/spring/videos/row-1/review", data=form, follow_redirects=True)

    assert (other.status_code, again.status_code, page.status_code) == (409, 200, 200)
    for answer in (other, again, page):
        assert "Rita" not in answer.text
        assert NOTE not in answer.text
    row = (await open_board.viewer.get("/api/v1/campaigns/spring/rows/row-1")).json()
    assert (row["reviewed_by"], row["review_note"]) == ("Rita", NOTE)


async def test_a_guest_may_replace_a_verdict_that_they_name(open_board: OpenBoard) -> None:
    await rejected_by_rita(open_board)
    made = await link(open_board, rights=["decide"])
    mara = await guest(open_board, made["address"])

    asked = {"take": 1, "verdict": "keep", "instead_of": "reject", "note": "fine by us"}
    answer = await mara.post("/api/v1/campaigns/spring/rows/row-1/review", json=asked)

    assert answer.json()["by"] == f"Mara (link {made['link']})"
    assert answer.json()["note"] == "fine by us"
    assert "fine by us" in (await mara.get("/c/spring/videos?open=row-1")).text


async def rejected_by_rita(open_board: OpenBoard) -> None:
    await with_videos(open_board.ledger, 2)
    asked = {"take": 1, "verdict": "reject", "reason": "off-message", "note": NOTE}
    path = "/api/v1/campaigns/spring/rows/row-1/review"
    assert (await open_board.reviewer.post(path, json=asked)).status_code == 200


@pytest.mark.parametrize(("origin", "here"), [(None, True), ("https://board.example", False)])
async def test_an_address_says_whether_it_opens_elsewhere(
    origin: str | None, here: bool, tmp_path: Path
) -> None:
    how = {"behind_proxy": True} if origin else {}
    headers = {"x-forwarded-host": "board.example", "x-forwarded-proto": "https"} if origin else {}
    words = "This address opens on this machine only."
    async with board_at(tmp_path, **how) as opened:
        await opened.ledger.write(
            ensure_campaign, name="spring", sheet="s.csv", sheet_digest="0", at=0.0
        )
        wanted = {"campaign": "spring", "name": "Mara"}
        for path, sent in (("people", {"name": "Ben", "role": "viewer"}), ("links", wanted)):
            made = await opened.admin.post(f"/api/v1/{path}", json=sent, headers=headers)
            assert made.json()["here_only"] is here
        browser = await opened.client(
            headers={"accept": "text/html", "origin": origin or opened.origin, **headers}
        )
        await browser.post("/login", data={"token": opened.people["admin"].token})
        cookie = "; ".join(f"{one.name}={one.value}" for one in browser.cookies.jar)
        sent = {"name": "Zoe", "role": "viewer"}
        for path, form in (("invite", sent), ("links", wanted)):
            page = await browser.post(f"/people/{path}", data=form, headers={"cookie": cookie})
            assert page.status_code == 201
            assert (words in page.text) is here
