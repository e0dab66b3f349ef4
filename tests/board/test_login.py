"""Coming in: one-time addresses, tokens, sessions; and what does not let anybody in."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser

from callsheet.deployments.board.limits import LOGINS
from callsheet.deployments.board.logins import new_login
from tests.board.conftest import OpenBoard

NAVIGATES = {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "accept": "text/html"}


@pytest.mark.merge
async def test_a_one_time_address_logs_in_once(open_board: OpenBoard, chromium: Browser) -> None:
    address = open_board.people["reviewer"].login
    first, second = await chromium.new_page(), await chromium.new_page()

    await first.goto(address)
    await second.goto(address)
    await first.get_by_role("button", name="Log in as Rita").click()
    await first.wait_for_url(f"{open_board.origin}/")
    await second.get_by_role("button", name="Log in as Rita").click()
    await second.get_by_role("alert").wait_for()

    assert await first.title() == "Campaigns · Callsheet"
    assert "used before" in await second.content()


SCANNERS = {
    "a preview": {"user-agent": "Slackbot-LinkExpanding 1.0"},
    "a prefetch": {"sec-purpose": "prefetch"},
    "a click in a mail": {"sec-fetch-site": "cross-site"},
    "a mail scanner that looks like a browser": {"user-agent": "Mozilla/5.0 (Windows NT 10.0)"},
    "a client that says nothing": {"accept": "*/*", "user-agent": ""},
}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_to_open_an_address_does_not_use_it_up(method: str, open_board: OpenBoard) -> None:
    address = open_board.people["viewer"].login
    for how, headers in SCANNERS.items():
        seen = await open_board.nobody.request(method, address, headers=headers)
        assert "set-cookie" not in seen.headers, how
        assert method == "HEAD" or "Log in as Vera" in seen.text, how

    assert (await open_board.press(open_board.nobody, address)).status_code == 303


@pytest.mark.parametrize("there", ["//[", "/\\[", "http://[", "//[::1", "/" + "[" * 5000])
async def test_an_address_to_go_to_never_costs_the_login(there: str, open_board: OpenBoard) -> None:
    address = open_board.people["viewer"].login
    shown = await open_board.nobody.get(address, params={"next": there, "code": code_of(address)})
    empty = await open_board.nobody.get("/login", params={"next": there})
    data = {"token": code_of(address), "next": there}
    entered = await open_board.nobody.post(
        "/login", data=data, headers={"origin": open_board.origin}
    )

    assert (shown.status_code, empty.status_code, entered.status_code) == (200, 200, 303)
    assert "set-cookie" in entered.headers


def code_of(address: str) -> str:
    return address.partition("code=")[2]


async def test_wrong_codes_of_another_site_lock_nobody_out(open_board: OpenBoard) -> None:
    elsewhere = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    for number in range(LOGINS + 1):
        wrong = f"/login?code=csb_wrong{number}"
        answer = await open_board.nobody.get(wrong, headers=elsewhere)
        assert answer.status_code == 401

    address = open_board.people["viewer"].login
    assert (await open_board.press(open_board.nobody, address)).status_code == 303


async def test_a_login_ends_with_its_time(open_board: OpenBoard) -> None:
    person = await open_board.person("viewer")
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
