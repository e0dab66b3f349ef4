"""Campaigns, rows and verdicts over the interface, as a team's own dashboard would call them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from callsheet.tasks.ledger.reviews import review
from callsheet.tasks.ledger.row_history import events_between
from tests.board.conftest import OpenBoard
from tests.board.test_screens import in_every_state
from tests.campaigns import NOW, Stage, brief

API = "/api/v1/campaigns"


async def spring(board: OpenBoard, rows: int = 5) -> Stage:
    """A campaign whose last row is not delivered yet."""
    briefs = [brief(f"r{n}", f"Tea {n}", tags=("even",) if n % 2 == 0 else ()) for n in range(rows)]
    stage = await Stage.set(board.ledger, *briefs, budget=100)
    for n in range(rows - 1):
        await stage.delivered(f"r{n}")
    return stage


@pytest.mark.merge
async def test_campaigns_tell_counts_credits_and_budget(open_board: OpenBoard) -> None:
    assert (await open_board.viewer.get(API)).json() == {"campaigns": [], "next": None}
    stage = await spring(open_board)
    await Stage.set(open_board.ledger, name="autumn")
    await decide(open_board, "r0", "keep")
    first = (await open_board.viewer.get(API, params={"limit": 1})).json()
    assert [one["campaign"] for one in first["campaigns"]] == ["autumn"]
    rest = (await open_board.viewer.get(API, params={"after": first["next"]})).json()
    (line,) = rest["campaigns"]
    assert (line["campaign"], line["budget"], rest["next"]) == ("spring", 100, None)
    assert line["rows"] == {"total": 5, "planned": 1, "delivered": 4}
    assert line["credits"] == {
        "quoted": 48, "reserved": 0, "charged": 48, "paid_before": 0, "variance": 0,
        "budget": 100, "left": 52,
    }  # fmt: skip
    one = (await open_board.viewer.get(f"{API}/spring")).json()
    assert {name: one[name] for name in line} == line
    assert one["videos"] == {"total": 4, "keep": 1, "reject": 0, "none": 3, "flagged": 0}
    assert one["tags"] == {"even": 3}
    assert stage.campaign.name == "spring"


#: The address of rows, and the rows that it finds.
ROWS = {
    "": "r0 r1 r2 r3 r4",
    "state=planned": "r4",
    "state=planned&state=delivered&tag=even": "r0 r2 r4",
    "review=keep": "r1",
    "review=none": "r0 r3",
    "review=reject&state=delivered": "r2",
    "q=TEA+3": "r3",
    "row=r1&row=r4": "r1 r4",
    "select=r0,r3,review:none": "r0 r3",
    "state=delivered&select=tag:e*,!r0": "r2",
    "row=r1&row=r4&select=R4": "r4",
    "video=false": "r4",
    "state=&tag=&review=&q=&flagged=&video=&takes=&since=&until=&sort=": "r0 r1 r2 r3 r4",
    "sort=since&limit=500&state=planned": "r4",
}


@pytest.mark.merge
async def test_rows_are_found_by_their_address_page_by_page(open_board: OpenBoard) -> None:
    await spring(open_board)
    await decide(open_board, "r1", "keep")
    await decide(open_board, "r2", "reject")
    for query, names in ROWS.items():
        found: list[str] = []
        after: str | None = ""
        while after is not None:
            answer = await open_board.viewer.get(f"{API}/spring/rows?{query}&after={after}&limit=2")
            page = answer.raise_for_status().json()
            found += [row["row"] for row in page["rows"]]
            after = page["next"]
            assert page["total"] == len(names.split()), query
        assert found == names.split(), query
    empty = await open_board.viewer.get(f"{API}/spring/rows?after=&limit=")
    assert len(empty.raise_for_status().json()["rows"]) == 5
    (row,) = (await open_board.viewer.get(f"{API}/spring/rows?row=r2")).json()["rows"]
    assert (row["state"], row["charged"], row["review"]) == ("delivered", 12, "reject")
    assert row["deliveries"][0]["kind"] == "mp4"
    assert row["checks"] == {}


REFUSED = [
    ("spring/rows?state=done", 422), ("spring/rows?review=kept", 422), ("spring/rows?limit=0", 422),
    ("spring/rows?limit=501", 422), ("spring/rows?after=x", 422), ("spring/rows?sort=best", 422),
    ("spring/rows/nobody", 404), ("summer", 404), ("summer/rows", 404), ("summer/events", 404),
    ("spring/events?after=x", 422), ("spring/rows?q=%00", 400), ("spring%00/rows", 400),
]  # fmt: skip


@pytest.mark.merge
async def test_what_cannot_be_answered_is_refused_with_a_sentence(open_board: OpenBoard) -> None:
    await spring(open_board, 1)
    for path, status in REFUSED:
        answer = await open_board.viewer.get(f"{API}/{path}")
        assert answer.status_code == status, path
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"]
        assert answer.json()["title"]
    assert (await open_board.nobody.get(f"{API}/summer")).status_code == 401


async def test_one_row_tells_its_takes_and_its_history(open_board: OpenBoard) -> None:
    await spring(open_board)
    await decide(open_board, "r0", "reject", reason="voice", note="too deep")
    found = (await open_board.viewer.get(f"{API}/spring/rows/r0")).json()
    assert (found["row"], found["title"], found["operation"]) == ("r0", "Tea 0", "create")
    assert found["tags"] == ["even"]
    (take,) = found["takes"]
    assert (take["take"], take["charged"], take["seconds"]) == (1, 12, 2.0)
    assert take["asked"] == {"aspect_ratio": "9:16", "topic": "Tea 0"}
    assert take["review"] == {
        "verdict": "reject", "reason": "voice", "note": "too deep", "by": "Rita",
        "at": take["review"]["at"],
    }  # fmt: skip
    last = found["events"][-1]
    assert (last["kind"], last["new"], last["take"]) == ("review", "reject", 1)
    assert last["words"] == "by Rita: voice: too deep"


async def decide(
    board: OpenBoard, row: str, verdict: str | None, by: str = "reviewer", **more: Any
) -> httpx.Response:
    asked = {"verdict": verdict, "take": 1, **more}
    return await board.clients[by].post(f"{API}/spring/rows/{row}/review", json=asked)


@pytest.mark.merge
async def test_the_first_verdict_stands_and_is_told_to_the_second(open_board: OpenBoard) -> None:
    await spring(open_board)
    first = await decide(open_board, "r0", "keep", "reviewer", note="lovely")
    assert first.status_code == 200
    assert first.json()["review"]["by"] == "Rita"
    assert (await decide(open_board, "r0", "keep", "approver")).json()["by"] == "Rita"
    late = await decide(open_board, "r0", "reject", "approver", reason="voice")
    assert late.status_code == 409
    assert "Rita" in late.json()["detail"]
    assert late.json()["review"]["verdict"] == "keep"
    assert late.json()["review"]["note"] == "lovely"
    other = await decide(open_board, "r0", "reject", "approver", instead_of="keep")
    assert (other.status_code, other.json()["by"]) == (200, "Ann")
    back = await decide(open_board, "r0", None, "approver", instead_of="reject")
    assert (back.status_code, back.json()["verdict"], back.json()["review"]) == (200, None, None)


#: What is sent, and what it is answered with.
NO_VERDICT = [
    ({"verdict": "maybe", "take": 1}, 422), ({"take": 1}, 422), ([], 422),
    ({"verdict": "keep", "take": 0}, 422), ({"verdict": "keep", "take": 2}, 404),
    ({"verdict": "keep", "take": 10**12}, 422),
    ({"verdict": "keep", "take": 1, "reason": "x" * 41}, 422),
    ({"verdict": "keep", "take": 1, "note": "x" * 2001}, 422),
]  # fmt: skip


async def test_what_is_no_verdict_changes_nothing(open_board: OpenBoard) -> None:
    await spring(open_board)
    for asked, status in NO_VERDICT:
        answer = await open_board.reviewer.post(f"{API}/spring/rows/r0/review", json=asked)
        assert answer.status_code == status, asked
    assert (await decide(open_board, "r4", "keep")).status_code == 404
    assert (await decide(open_board, "nobody", "keep")).status_code == 404
    assert (await decide(open_board, "r0", "keep", "viewer")).status_code == 403
    assert (await decide(open_board, "r0", "keep", "nobody")).status_code == 401
    one = (await open_board.viewer.get(f"{API}/spring")).json()
    assert one["videos"]["none"] == 4


@pytest.mark.merge
async def test_all_that_match_are_decided_on_but_what_came_later(open_board: OpenBoard) -> None:
    stage = await spring(open_board)
    await decide(open_board, "r0", "reject")
    calls = f"{API}/spring/reviews"
    everything = await open_board.reviewer.post(calls, json={"verdict": "keep"})
    assert everything.status_code == 422
    early = {"verdict": "keep", "until": NOW - 1}
    assert (await open_board.reviewer.post(f"{calls}?video=true", json=early)).json()["made"] == 0
    keep = {"verdict": "keep", "until": NOW, "note": "all good"}
    done = await open_board.reviewer.post(f"{calls}?tag=even", json=keep)
    assert done.json() == {"made": 1, "same": 0, "stood": 1}
    done = await open_board.reviewer.post(f"{calls}?row=r1&row=r2", json=keep)
    assert done.json() == {"made": 1, "same": 1, "stood": 0}
    assert (await open_board.viewer.post(f"{calls}?review=none", json=keep)).status_code == 403
    found = (await open_board.viewer.get(f"{API}/spring/rows?review=keep")).json()["rows"]
    assert [(row["row"], row["review_note"]) for row in found] == [
        ("r1", "all good"), ("r2", "all good"),
    ]  # fmt: skip
    assert await stage.events("r3") == [e for e in await stage.events("r3") if e.kind != "review"]


@asynccontextmanager
async def stream(board: OpenBoard, **how: Any) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    """The campaign's events, as a program reads them."""
    async with board.viewer.stream("GET", f"{API}/spring/events", **how) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-cache"
        yield _events(answer)


async def _events(answer: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    data = number = None
    async for line in answer.aiter_lines():
        name, _, value = line.partition(": ")
        if name == "data":
            data = json.loads(value)
        elif name == "id":
            number = int(value)
        elif not line and data is not None:
            assert data["id"] == number
            yield data
            data = number = None


async def some(events: AsyncIterator[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    return [await asyncio.wait_for(anext(events), 10) for _ in range(count)]


@pytest.mark.merge
async def test_events_are_told_as_they_come_and_from_the_last_one_on(open_board: OpenBoard) -> None:
    stage = await spring(open_board)
    other = await Stage.set(open_board.ledger, brief("x"), name="autumn")
    history = (await open_board.viewer.get(f"{API}/spring/rows/r0")).json()["events"]
    count = len(
        await open_board.ledger.read(
            events_between, campaign_id=stage.campaign.id, after=0, upto=10**6
        )
    )
    async with stream(open_board) as told:
        begun = await some(told, count)
        assert [one for one in begun if one["row"] == "r0"] == history
        assert [one["id"] for one in begun] == sorted({one["id"] for one in begun})
    middle = begun[11]["id"]
    async with stream(open_board, headers={"last-event-id": str(middle)}) as told:
        assert await some(told, count - 12) == begun[12:]
    async with stream(open_board, params={"after": "now"}) as told:
        # Once it has begun; what is somebody else's is not told.
        await asyncio.sleep(1)
        await other.quote("x")
        await stage.quote("r4")
        row = await stage.row("r0")
        await stage.write(review, row.take.id, "keep", by="Ann", at=NOW)
        fresh = await some(told, 2)
    assert [(one["row"], one["kind"], one["new"]) for one in fresh] == [
        ("r4", "state", "quoted"), ("r0", "review", "keep"),
    ]  # fmt: skip
    async with stream(open_board, headers={"last-event-id": str(begun[-1]["id"])}) as told:
        rest: Sequence[dict[str, Any]] = []
        while not rest or rest[-1] != fresh[-1]:
            rest = [*rest, *await some(told, 1)]
    assert [one["id"] for one in rest][-2:] == [one["id"] for one in fresh]


RESOLVE = "/api/v1/campaigns/spring/rows"


@pytest.mark.safeguard("deployments/commands/resolve.py", "if sum(said) != 1:", "if False:")
@pytest.mark.merge
@pytest.mark.parametrize("said", [{}, {"resend": True, "abandon": True}, {"charged": 3}])
async def test_nothing_is_given_up_unsaid(open_board: OpenBoard, said: dict[str, object]) -> None:
    await in_every_state(open_board)

    answer = await open_board.approver.post(f"{RESOLVE}/uncertain/resolve", json=said)

    assert (answer.status_code, "say one of" in answer.json()["detail"]) == (422, True)
    row = (await open_board.viewer.get(f"{RESOLVE}/uncertain")).json()
    assert row["state"] == "uncertain"


async def test_a_row_is_given_up_once(open_board: OpenBoard) -> None:
    await in_every_state(open_board)
    path = f"{RESOLVE}/uncertain/resolve"

    assert (await open_board.reviewer.post(path, json={"abandon": True})).status_code == 403
    done = await open_board.approver.post(path, json={"abandon": True})
    again = await open_board.approver.post(path, json={"abandon": True})

    assert (done.status_code, again.status_code) == (200, 409)
    assert "is cancelled" in done.json()["words"]
