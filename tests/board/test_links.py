"""Links for people from outside: what they open, what they do not, and when they end."""

from __future__ import annotations

from functools import partial
from typing import Any

import httpx
import pytest

from tasks.ledger import ensure_campaign
from tests.board.conftest import OpenBoard


@pytest.fixture(autouse=True)
async def campaigns(open_board: OpenBoard) -> None:
    for name in ("spring", "autumn"):
        await open_board.ledger.write(
            partial(ensure_campaign, name=name, sheet="s.csv", sheet_digest="0", at=0.0)
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
    assert entered.headers["location"] == "/c/spring/films"
    return browser


async def test_a_link_opens_more_than_once_and_only_its_campaigns_films(
    open_board: OpenBoard,
) -> None:
    made = await link(open_board)
    await guest(open_board, made["address"])
    mara = await guest(open_board, made["address"])

    for path in ("/", "/people", "/health", "/activity", "/new", "/c/autumn/films"):
        assert (await mara.get(path)).status_code in (403, 404), path
    for path in ("me", "people", "campaigns", "campaigns/spring", "activity", "health", "links"):
        assert (await mara.get(f"/api/v1/{path}")).status_code in (403, 404), path


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

    seen = await mara.get("/api/v1/films/spring/r1/1.mp4")
    taken = await mara.get("/api/v1/films/spring/r1/1.mp4?download")

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
