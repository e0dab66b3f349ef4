"""Who is revoked while the body of their request is on its way changes nothing with it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from tests.board.conftest import NAMES, OpenBoard
from tests.board.test_screens import a_plan
from tests.board.with_videos import with_videos
from tests.campaigns import Stage, brief
from tests.programs import simple_sheet
from tests.repository import files_in

API = "/api/v1"
REVIEW = {"take": 1, "verdict": "keep"}


@dataclass(frozen=True)
class Try:
    """A request of a person with a role, by a token (`json`) or as a browser (`form`)."""

    role: str
    path: str
    json: Any = None
    form: Any = None
    method: str = "POST"


TRIES = (
    Try("admin", f"{API}/people", json={"name": "Eve", "role": "admin"}),
    Try("admin", "/people/invite", form={"name": "Eve", "role": "admin"}),
    Try("admin", f"{API}/links", json={"campaign": "spring", "name": "Eve"}),
    Try("admin", "/people/links", form={"campaign": "spring", "name": "Eve"}),
    Try("admin", "/people/revoke", form={"name": "Vera"}),
    Try("reviewer", f"{API}/sheets", json={"name": "s.csv", "text": simple_sheet(1)}),
    Try("reviewer", f"{API}/campaigns/spring/rows/row-1/review", json=REVIEW),
    Try("reviewer", f"{API}/campaigns/spring/reviews?review=none", json={"verdict": "keep"}),
    Try("reviewer", "/c/spring/videos/row-1/review", form=REVIEW),
    Try("reviewer", "/c/spring/videos/verdicts", form={"verdict": "keep", "row": "row-1"}),
    Try("approver", f"{API}/campaigns/spring/cancel", json={}),
    Try("approver", f"{API}/campaigns/spring/retakes", json={"rows": ["row-1"]}),
)
#: Tables that a refused request leaves as they are; people and acts have the revocation itself.
TABLES = ("links", "sheets", "plans", "runs", "events", "rows", "takes")


def written(folder: Path) -> dict[str, Any]:
    """Return all lines of the tables that a person's requests write."""
    with sqlite3.connect(folder / ".callsheet" / "ledger.db") as ledger:
        found = {name: ledger.execute(f"SELECT * FROM {name}").fetchall() for name in TABLES}
        query = "SELECT name FROM people WHERE revoked_at IS NULL"
        return found | {"people": {name for (name,) in ledger.execute(query)}}


async def head_and_body(board: OpenBoard, one: Try) -> tuple[dict[str, str], bytes]:
    """Return the headers that show who asks, and the body."""
    if one.form is None:
        bearer = {"authorization": f"Bearer {board.people[one.role].token}"}
        return {**bearer, "content-type": "application/json"}, json.dumps(one.json).encode()
    (cookie,) = (await board.form(one.role)).cookies.jar
    headers = {
        "cookie": f"{cookie.name}={cookie.value}",
        "origin": board.origin,
        "content-type": "application/x-www-form-urlencoded",
    }
    return headers, urlencode(one.form).encode()


@pytest.fixture
async def other_admin(open_board: OpenBoard) -> Any:
    """Zoe, who revokes people, admins too."""
    wanted = {"name": "Zoe", "role": "admin"}
    made = (await open_board.admin.post(f"{API}/people", json=wanted)).json()
    return await open_board.client(headers={"authorization": f"Bearer {made['token']}"})


@pytest.mark.safeguard("tasks/ledger/people.py", "check(find(connection))", "")
@pytest.mark.parametrize("one", TRIES, ids=lambda one: f"{one.method} {one.path}")
async def test_a_person_who_is_revoked_meanwhile_changes_nothing(
    one: Try, open_board: OpenBoard, other_admin: Any, tmp_path: Path
) -> None:
    await with_videos(open_board.ledger, 1)
    headers, body = await head_and_body(open_board, one)
    async with late_body(open_board, one.method, one.path, headers, body) as late:
        gone = await other_admin.delete(f"{API}/people/{NAMES[one.role]}")
        assert gone.status_code == 200
        before = written(tmp_path)
        status = await late.answer()

    assert status == 401
    assert written(tmp_path) == before


@pytest.mark.parametrize("how", ["revoked", "logged out", "made a viewer"])
async def test_the_end_of_a_session_counts_as_well(
    how: str, open_board: OpenBoard, other_admin: Any, tmp_path: Path
) -> None:
    await with_videos(open_board.ledger, 1)
    one = Try("reviewer", "/c/spring/videos/row-1/review", form=REVIEW)
    headers, body = await head_and_body(open_board, one)
    async with late_body(open_board, one.method, one.path, headers, body) as late:
        if how == "logged out":
            out = await open_board.nobody.post("/logout", headers=headers)
            assert out.status_code == 303
        elif how == "revoked":
            await other_admin.delete(f"{API}/people/Rita")
        else:
            wanted = {"name": "Rita", "role": "viewer", "again": True}
            await other_admin.post(f"{API}/people", json=wanted)
        before = written(tmp_path)
        assert await late.answer() == 401

    assert written(tmp_path) == before


@pytest.mark.safeguard(
    "deployments/board/board.py", "request.state.permission.checks.append(check)", ""
)
async def test_a_role_lowered_in_place_counts_at_once(
    open_board: OpenBoard, tmp_path: Path
) -> None:
    """Nothing in the program does so without a new token; the check reads the role all the same."""
    await with_videos(open_board.ledger, 1)
    one = Try("reviewer", f"{API}/campaigns/spring/rows/row-1/review", json=REVIEW)
    headers, body = await head_and_body(open_board, one)
    async with late_body(open_board, one.method, one.path, headers, body) as late:
        with sqlite3.connect(tmp_path / ".callsheet" / "ledger.db") as ledger:
            ledger.execute("UPDATE people SET role = 'viewer' WHERE name = 'Rita'")
        before = written(tmp_path)
        assert await late.answer() == 403

    assert written(tmp_path) == before


async def test_a_link_ended_meanwhile_decides_nothing(
    open_board: OpenBoard, tmp_path: Path
) -> None:
    await with_videos(open_board.ledger, 1)
    made = await open_board.link("decide", all_videos=True)
    (cookie,) = (await open_board.guest(made["address"])).cookies.jar
    headers = {"cookie": f"{cookie.name}={cookie.value}", "origin": open_board.origin,
               "content-type": "application/json"}  # fmt: skip
    path = f"{API}/campaigns/spring/rows/row-1/review"
    async with late_body(open_board, "POST", path, headers, json.dumps(REVIEW).encode()) as late:
        await open_board.admin.delete(f"{API}/links/{made['link']}")
        before = written(tmp_path)
        assert await late.answer() == 401

    assert written(tmp_path) == before


async def test_an_approver_who_is_revoked_meanwhile_approves_nothing(
    open_board: OpenBoard, other_admin: Any, tmp_path: Path
) -> None:
    await Stage.set(open_board.ledger, brief("a"))
    await a_plan(open_board, "p1", 0, kind="retake", terms={"rows": ["a"]})
    one = Try("approver", f"{API}/plans/p1/approve", json={})
    headers, body = await head_and_body(open_board, one)
    async with late_body(open_board, one.method, one.path, headers, body) as late:
        await other_admin.delete(f"{API}/people/Ann")
        before = written(tmp_path)
        assert await late.answer() == 401

    assert written(tmp_path) == before


@dataclass(frozen=True)
class LateBody:
    """A request that the board has let in and waits for."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    body: bytes

    async def answer(self) -> int:
        """Send the body; return the status of the answer."""
        self.writer.write(self.body)
        return int((await self.reader.readline()).split()[1])


@asynccontextmanager
async def late_body(
    board: OpenBoard, method: str, path: str, headers: Mapping[str, str], body: bytes
) -> AsyncIterator[LateBody]:
    """Send the head of a request, and wait until the board asks for the body."""
    where = urlsplit(board.origin)
    head = {
        "host": where.netloc,
        "content-length": str(len(body)),
        # A server answers this once the application wants to read: the guard is done by then.
        "expect": "100-continue",
        "connection": "close",
        **headers,
    }
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    try:
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode())
        async with asyncio.timeout(30):
            assert b" 100 " in await reader.readuntil(b"\r\n\r\n")
            yield LateBody(reader, writer, body)
    finally:
        writer.close()


def test_no_page_or_call_writes_past_the_check() -> None:
    """`Board.write` checks the person; the ledger's own `write` would not."""
    found = [
        path.name
        for path in files_in(*(f"deployments/board/{one}" for one in ("services", "api", "pages")))
        if "ledger.write(" in path.read_text()
    ]
    assert found == []
