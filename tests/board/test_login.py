"""Coming in: one-time addresses, tokens, sessions; and what does not let anybody in."""

from __future__ import annotations

from playwright.async_api import Browser

from deployments.board.acts.people import new_login
from tests.board.conftest import OpenBoard

NAVIGATES = {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "accept": "text/html"}


async def test_a_browser_gets_in_by_a_one_time_address_once(
    open_board: OpenBoard, chromium: Browser
) -> None:
    address = open_board.people["reviewer"].login
    first, second = await chromium.new_page(), await chromium.new_page()

    await first.goto(address)
    await second.goto(address)

    assert await first.title() == "Campaigns · Callsheet"
    assert first.url == f"{open_board.origin}/"
    assert "used before" in await second.content()


async def test_a_preview_does_not_use_a_login_up(open_board: OpenBoard) -> None:
    address = open_board.people["viewer"].login
    for headers in (
        {"user-agent": "Slackbot-LinkExpanding 1.0"},
        {"sec-purpose": "prefetch"},
        {"sec-fetch-site": "cross-site"},
    ):
        seen = await open_board.nobody.get(address, headers={**NAVIGATES, **headers})
        assert "Log in as Vera" in seen.text
        assert "set-cookie" not in seen.headers

    assert (await open_board.nobody.get(address, headers=NAVIGATES)).status_code == 303


async def test_a_login_ends_with_its_time(open_board: OpenBoard) -> None:
    person = open_board.people["viewer"].person
    address = await new_login(open_board.board, person, lasts=-1)

    assert (await open_board.nobody.get(address)).status_code == 401


async def test_nobody_is_led_to_the_login_and_back(open_board: OpenBoard) -> None:
    answer = await open_board.nobody.get("/?a=1", headers=NAVIGATES)

    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?next=/%3Fa%3D1"


async def test_who_logs_out_is_out(open_board: OpenBoard) -> None:
    browser = await open_board.form("viewer")
    (cookie,) = browser.cookies.jar
    kept = {"cookie": f"{cookie.name}={cookie.value}", **NAVIGATES}
    assert (await open_board.nobody.get("/", headers=kept)).status_code == 200

    await browser.post("/logout")

    assert (await open_board.nobody.get("/", headers=kept)).status_code == 303
