"""Calls that are sent again under the same Idempotency-Key: done once, answered the same."""

from __future__ import annotations

import asyncio
import sqlite3
from functools import partial
from pathlib import Path

import httpx
import pytest

from callsheet.tasks.ledger.campaigns import ensure_campaign
from tests.board.conftest import OpenBoard

BEN = {"name": "Ben", "role": "viewer"}


async def test_a_repeat_gets_the_answer_of_the_first(open_board: OpenBoard) -> None:
    key = {"idempotency-key": "one"}

    first = await open_board.admin.post("/api/v1/people", json=BEN, headers=key)
    second = await open_board.admin.post("/api/v1/people", json=BEN, headers=key)

    assert (first.status_code, second.status_code) == (201, 201)
    assert second.json() == {**first.json(), "token": "csb_***", "login": hidden(first)}
    assert second.headers["idempotency-replayed"] == "true"
    people = (await open_board.admin.get("/api/v1/people")).json()["people"]
    assert [one["name"] for one in people].count("Ben") == 1


def hidden(first: httpx.Response) -> str:
    return f"{first.json()['login'].partition('csb_')[0]}csb_***"


async def test_a_secret_that_was_answered_is_kept_nowhere(
    open_board: OpenBoard, tmp_path: Path
) -> None:
    key = {"idempotency-key": "one"}
    made = await open_board.admin.post("/api/v1/people", json=BEN, headers=key)
    link = {"campaign": "spring", "name": "Mara"}
    await open_board.ledger.write(
        partial(ensure_campaign, name="spring", sheet="s.csv", sheet_digest="0", at=0.0)
    )
    key = {"idempotency-key": "two"}
    linked = await open_board.admin.post("/api/v1/links", json=link, headers=key)

    await open_board.ledger.aclose()
    kept = b"".join(file.read_bytes() for file in (tmp_path / ".callsheet").glob("ledger.db*"))
    for secret in (made.json()["token"], made.json()["login"], linked.json()["address"]):
        assert secret.partition("csb_")[2].encode() not in kept


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/", "/api/v2/people", "/api/v1/me"])
async def test_an_address_that_is_no_call_stores_no_key(
    path: str, open_board: OpenBoard, tmp_path: Path
) -> None:
    answer = await open_board.viewer.post(path, json={}, headers={"idempotency-key": "one"})

    assert answer.status_code == (405 if path == "/api/v1/me" else 404)
    with sqlite3.connect(tmp_path / ".callsheet" / "ledger.db") as ledger:
        assert ledger.execute("SELECT count(*) FROM answers").fetchone() == (0,)


async def test_of_ten_at_once_one_is_done(open_board: OpenBoard) -> None:
    key = {"idempotency-key": "one"}

    async def invite() -> int:
        answer = await open_board.admin.post("/api/v1/people", json=BEN, headers=key)
        return answer.status_code

    statuses = await asyncio.gather(*(invite() for _ in range(10)))

    # Those that came while the first was at work are told to come again.
    assert set(statuses) <= {201, 409}
    assert (await open_board.admin.post("/api/v1/people", json=BEN, headers=key)).json()["token"]


async def test_a_key_stands_for_one_request(open_board: OpenBoard) -> None:
    key = {"idempotency-key": "one"}
    await open_board.admin.post("/api/v1/people", json=BEN, headers=key)

    other = await open_board.admin.post(
        "/api/v1/people", json={**BEN, "role": "admin"}, headers=key
    )

    assert other.status_code == 422
    assert "Idempotency-Key" in other.json()["detail"]


async def test_nobody_gets_the_answer_that_was_another_ones(open_board: OpenBoard) -> None:
    key = {"idempotency-key": "one"}
    await open_board.admin.post("/api/v1/people", json=BEN, headers=key)

    other = await open_board.approver.post("/api/v1/people", json=BEN, headers=key)

    assert other.status_code == 403
    assert "csb_" not in other.text


async def test_a_refusal_for_lack_of_a_role_is_not_kept(open_board: OpenBoard) -> None:
    key = {"idempotency-key": "one"}
    ann = open_board.approver
    assert (await ann.post("/api/v1/people", json=BEN, headers=key)).status_code == 403
    await open_board.admin.post(
        "/api/v1/people", json={"name": "Ann", "role": "admin", "again": True}
    )


async def test_a_key_of_another_form_is_refused(open_board: OpenBoard) -> None:
    for key in ("", "a b", "x" * 256):
        answer = await open_board.admin.post(
            "/api/v1/people", json=BEN, headers={"idempotency-key": key}
        )
        assert answer.status_code == 400


async def test_a_file_sent_again_is_the_same_whatever_its_boundary(open_board: OpenBoard) -> None:
    """Every program makes up a boundary of its own, and another one for the next try."""
    sheet = b"id,tool,fields.product\nr1,product-launch,Kettle\n"
    answers = [
        await open_board.admin.post(
            "/api/v1/sheets", files={"file": ("s.csv", text)}, headers={"idempotency-key": "one"}
        )
        for text in (sheet, sheet, sheet + b"r2,product-launch,Pan\n")
    ]

    first, second, other = answers
    sent = {answer.request.headers["content-type"] for answer in answers}
    assert len(sent) == 3
    assert first.status_code == second.status_code == 201
    assert first.json() == second.json()
    assert other.status_code == 422
