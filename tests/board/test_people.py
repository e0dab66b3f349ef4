"""Invitations, roles and revocation; and coming in: one-time addresses, tokens, sessions."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser

from callsheet.deployments.board.limits import LOGINS
from callsheet.deployments.board.logins import new_login
from tests.board.conftest import ALLOWANCE, OpenBoard
from tests.board.with_videos import with_videos


async def test_an_admin_invites_and_what_they_are_given_works(open_board: OpenBoard) -> None:
    wanted = {"name": "Ben", "role": "approver", "allowance": 12.5}

    made = await open_board.admin.post("/api/v1/people", json=wanted)

    assert made.status_code == 201
    bearer = {"authorization": f"Bearer {made.json()['token']}"}
    me = await open_board.nobody.get("/api/v1/me", headers=bearer)
    assert me.json() == {"name": "Ben", "role": "approver", "allowance": 12.5}
    entered = await open_board.press(open_board.nobody, made.json()["login"])
    assert entered.status_code == 303


async def test_the_page_invites_and_shows_the_token_this_once(open_board: OpenBoard) -> None:
    browser = await open_board.form("admin")

    made = await browser.post("/people/invite", data={"name": "Ben", "role": "viewer"})

    assert made.status_code == 201
    assert "csb_" in made.text
    again = await browser.get("/people")
    assert "Ben" in again.text
    assert "csb_" not in again.text


async def test_a_name_is_not_taken_over_by_accident(open_board: OpenBoard) -> None:
    wanted = {"name": "Vera", "role": "admin"}

    refused = await open_board.admin.post("/api/v1/people", json=wanted)

    assert refused.status_code == 422
    unclear = await open_board.admin.post("/api/v1/people", json={**wanted, "again": "on"})
    assert unclear.status_code == 422
    assert (await open_board.viewer.get("/api/v1/me")).json()["role"] == "viewer"
    renewed = await open_board.admin.post("/api/v1/people", json={**wanted, "again": True})
    assert renewed.status_code == 201
    assert (await open_board.viewer.get("/api/v1/me")).status_code == 401


@pytest.mark.safeguard(
    "tasks/ledger/people.py",
    "if allowance is None and there.revoked_at is None:",
    "if False:",
)
async def test_a_renewed_invitation_keeps_the_allowance(open_board: OpenBoard) -> None:
    wanted = {"name": "Ann", "role": "approver", "again": True}

    async def renewed(**also: int) -> float | None:
        made = await open_board.admin.post("/api/v1/people", json={**wanted, **also})
        assert made.status_code == 201
        return made.json()["allowance"]

    assert await renewed() == ALLOWANCE
    assert await renewed(allowance=30) == 30
    await open_board.admin.delete("/api/v1/people/Ann")
    assert await renewed() is None


async def test_whoever_is_revoked_is_out_at_once(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    assert (await browser.get("/")).url.path == "/"

    gone = await open_board.admin.delete("/api/v1/people/Rita")

    assert gone.json() == {"revoked": True}
    assert (await open_board.reviewer.get("/api/v1/me")).status_code == 401
    assert (await browser.get("/")).url.path == "/login"
    login = await open_board.press(open_board.nobody, open_board.people["reviewer"].login)
    assert login.status_code == 401
    assert (await open_board.admin.delete("/api/v1/people/Rita")).status_code == 404


async def test_nobody_revokes_themselves(open_board: OpenBoard) -> None:
    assert (await open_board.admin.delete("/api/v1/people/Ada")).status_code == 409


@pytest.mark.merge
async def test_what_was_done_is_told(open_board: OpenBoard) -> None:
    await open_board.admin.post("/api/v1/people", json={"name": "Ben", "role": "viewer"})
    await open_board.admin.delete("/api/v1/people/Ben")

    told = (await open_board.viewer.get("/api/v1/activity?limit=2")).json()

    assert [(act["by"], act["act"], act["words"]) for act in told["acts"]] == [
        ("Ada", "revoke", "Ben"),
        ("Ada", "invite", "Ben as viewer"),
    ]
    older = await open_board.viewer.get(f"/api/v1/activity?before={told['next']}")
    assert {act["act"] for act in older.json()["acts"]} == {"invite"}
    assert "Ben as viewer" in (await (await open_board.form("viewer")).get("/activity")).text


@pytest.mark.parametrize(
    ("path", "form", "sentence"),
    [
        ("invite", {"name": "x" * 500, "role": "viewer"}, "should have at most 80 characters"),
        ("invite", {"name": "Zoe", "role": "viewer", "allowance": "ten"}, "a valid decimal"),
        ("invite", {"name": "agent:zoe", "role": "viewer"}, "is a program"),
        ("links", {"name": "Zoe", "days": "900"}, "should be less than or equal to 90"),
        ("links", {"name": "Zoe", "select": "nobody"}, "there is no such row"),
        ("links", {"name": "Zoe", "due": "2001-01-01"}, "is not within the days"),
    ],
)
async def test_a_form_says_what_is_wrong_and_keeps_what_was_typed(
    path: str, form: dict[str, str], sentence: str, open_board: OpenBoard
) -> None:
    await with_videos(open_board.ledger, 1)
    browser = await open_board.form("admin")
    before = len((await open_board.admin.get("/api/v1/people")).json()["people"])
    page = await browser.post(f"/people/{path}", data={"campaign": "spring", **form})
    assert page.status_code == 422
    mistake = re.search(r'class="mistake"[^>]*>([^<]*)', page.text)
    assert sentence in mistake[1]
    for name, text in form.items():
        assert name == "role" or f'name="{name}" value="{text}"' in page.text, name
    assert len((await open_board.admin.get("/api/v1/people")).json()["people"]) == before
    assert (await open_board.admin.get("/api/v1/links")).json() == {"links": []}


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
