"""Who may do what: invitations, roles, revocation; on the page, by the interface, by command."""

from __future__ import annotations

import re

import pytest

from tests.board.conftest import OpenBoard
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
    assert (await open_board.viewer.get("/api/v1/me")).json()["role"] == "viewer"
    renewed = await open_board.admin.post("/api/v1/people", json={**wanted, "again": True})
    assert renewed.status_code == 201
    assert (await open_board.viewer.get("/api/v1/me")).status_code == 401


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
