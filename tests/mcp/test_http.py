"""`/mcp` on the board: who may come, and whose word counts there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

from callsheet.deployments.board.guard import Guard
from callsheet.deployments.board.limits import EACH as EACH_STREAM
from callsheet.deployments.board.limits import Streams, Tries
from callsheet.deployments.board.services.videos import Videos
from callsheet.deployments.commands.allow import allow_agent
from callsheet.deployments.mcp.http import Agents
from callsheet.deployments.mcp.sessions import EACH as EACH_SESSION
from tests.board.conftest import OpenBoard, board_at, by_test, forked_run
from tests.databases import lay_ledger
from tests.mcp.conftest import AGENT, ROW, call, finished, refused, sheet_of
from tests.programs import Sandbox
from tests.up.conftest import until

STARTED = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {},
               "clientInfo": {"name": "test", "version": "1"}},
}  # fmt: skip
ACCEPT = {"accept": "application/json, text/event-stream"}
ASKED = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture
async def board(tmp_path: Path, made_ledger: Path, service: Sandbox) -> AsyncIterator[OpenBoard]:
    """A board with people of every role, whose answers are the test's."""
    lay_ledger(tmp_path, made_ledger)
    async with board_at(tmp_path, environ=service.environ, begin=forked_run) as opened:
        yield opened


@asynccontextmanager
async def agent(board: OpenBoard, who: str, *, mode: str = "auto") -> AsyncIterator[Client]:
    """Yield the client of a person's or the agent's token, which says yes to every question."""
    if who == AGENT:
        token = (await allow_agent(by_test(board.board), AGENT, renew=True)).token
    else:
        token = board.people[who].token

    async def yes(*_: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"approve": True})

    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(f"{board.origin}/mcp", http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=yes) as client:
            yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_agent_spends_its_allowance(board: OpenBoard, service: Sandbox, mode: str) -> None:
    before, name = service.balance(), f"http-{mode}"
    async with agent(board, AGENT, mode=mode) as client:
        plan = await call(client, "plan", sheet=sheet_of(1, title=name), campaign=name)
        # Nobody knows who answers there.
        said = await refused(client, "run_plan", plan=plan["plan"])
        assert said["approve_at"] == f"{board.origin}/plans/{plan['plan']}"
        await allow_agent(by_test(board.board), AGENT, Decimal(ROW))
        await call(client, "run_plan", plan=plan["plan"])
        assert "reads no files" in (await refused(client, "plan", sheet="x.csv"))["refusal"]
        await finished(client, name)
    assert before - service.balance() == ROW


@pytest.mark.safeguard(
    "deployments/mcp/plans.py",
    "if await is_within(caller, view):\n        return caller.person",
    "if True:\n        return caller.person",
)
@pytest.mark.merge
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_only_a_person_who_may_approve_is_asked(board: OpenBoard, mode: str) -> None:
    name = f"asked-{mode}"
    async with agent(board, "reviewer", mode=mode) as client:
        plan = await call(client, "plan", sheet=sheet_of(1, title=name), campaign=name)
        assert (await refused(client, "run_plan", plan=plan["plan"]))["approve_at"]
        assert "role" in (await refused(client, "cancel", campaign=name))["refusal"]
    async with agent(board, "viewer", mode=mode) as client:
        assert "role" in (await refused(client, "run_plan", plan=plan["plan"]))["refusal"]
    async with agent(board, "approver", mode=mode) as client:
        await call(client, "run_plan", plan=plan["plan"])
        await finished(client, name)


@pytest.mark.merge
async def test_a_token_of_a_person_approves_nothing_without_their_answer(board: OpenBoard) -> None:
    headers = {"authorization": f"Bearer {board.people['admin'].token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{board.origin}/mcp", http_client=http)) as client,
    ):
        plan = await call(client, "plan", sheet=sheet_of(1), campaign="silent")
        assert (await refused(client, "run_plan", plan=plan["plan"]))["approve_at"]


@pytest.mark.safeguard(
    "deployments/mcp/http.py",
    "if person is None or bearer is None:",
    'bearer = bearer or ""\n        if person is None:',
)
async def test_without_a_token_it_says_what_to_do(board: OpenBoard) -> None:
    browser = await board.form("admin")
    for who in (board.nobody, browser):
        for answer in (await who.post("/mcp", json=ASKED, headers={"accept": "application/json"}),
                       await who.get("/mcp", headers={"accept": "text/event-stream"})):  # fmt: skip
            assert answer.status_code == 401
            assert "callsheet allow agent:NAME --token" in answer.json()["remedy"]
            assert answer.headers["www-authenticate"] == "Bearer"
    wrong = {"authorization": "Bearer csb_wrong"}
    assert (await board.nobody.post("/mcp", json=ASKED, headers=wrong)).status_code == 401


async def test_a_page_of_another_site_or_name_reaches_no_tool(board: OpenBoard) -> None:
    assert (await board.admin.post("/mcp", json=ASKED, headers={"host": "evil.example"})
            ).status_code == 421  # fmt: skip
    evil = {"origin": "https://evil.example"}
    assert (await board.admin.get("/mcp", headers=evil)).status_code == 403
    foreign = await board.admin.post("/mcp", json=ASKED, headers=evil)
    assert foreign.status_code == 403


async def test_a_session_belongs_to_the_token_that_began_it(board: OpenBoard) -> None:
    answer = await board.admin.post("/mcp", json=STARTED, headers=ACCEPT)
    session = {"mcp-session-id": answer.headers["mcp-session-id"], **ACCEPT}
    assert (await board.viewer.post("/mcp", json=ASKED, headers=session)).status_code == 404


#: A request for changes of the list of tools, which stays open.
LISTEN = {
    "jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen",
    "params": {"notifications": {"toolsListChanged": True},
               "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                         "io.modelcontextprotocol/clientCapabilities": {}}},
}  # fmt: skip
LISTENS = {"mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen", **ACCEPT}


async def test_one_person_cannot_take_all_subscriptions(board: OpenBoard) -> None:
    async with AsyncExitStack() as many:
        for _ in range(EACH_STREAM):
            answer = await many.enter_async_context(
                board.viewer.stream("POST", "/mcp", json=LISTEN, headers=LISTENS)
            )
            assert answer.status_code == 200
        refused = await board.viewer.post("/mcp", json=LISTEN, headers=LISTENS)
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "60"
        other = board.reviewer.stream("POST", "/mcp", json=LISTEN, headers=LISTENS)
        assert (await many.enter_async_context(other)).status_code == 200
        assert (await board.nobody.get("/live")).status_code == 200


@pytest.mark.merge
async def test_one_person_cannot_take_all_sessions(board: OpenBoard) -> None:
    async def begin(who: httpx.AsyncClient) -> httpx.Response:
        return await who.post("/mcp", json=STARTED, headers=ACCEPT)

    begun = [await begin(board.viewer) for _ in range(EACH_SESSION)]
    assert {answer.status_code for answer in begun} == {200}
    refused = await begin(board.viewer)
    assert refused.status_code == 429
    assert "idle sessions end" in refused.json()["remedy"]
    assert (await begin(board.reviewer)).status_code == 200
    session = {"mcp-session-id": begun[0].headers["mcp-session-id"], **ACCEPT}
    assert (await board.viewer.delete("/mcp", headers=session)).status_code == 200
    assert (await begin(board.viewer)).status_code == 200


async def test_what_is_open_ends_for_an_agent_that_is_revoked(board: OpenBoard) -> None:
    streams, name = Streams(), "agent:gone"
    token = (await allow_agent(by_test(board.board), name, renew=True)).token
    agents = Agents(board.board, Videos(board.board), streams, look_again=0.01)
    guard = Guard(agents, board.board, Tries(board.board.clock, most=9))
    transport = httpx.ASGITransport(guard)  # type: ignore[arg-type]
    headers = {"authorization": f"Bearer {token}", "host": urlsplit(board.origin).netloc}
    try:
        async with httpx.AsyncClient(
            transport=transport, base_url=board.origin, headers=headers, timeout=60
        ) as agent:
            begun = await agent.post("/mcp", json=STARTED, headers=ACCEPT)
            session = begun.headers["mcp-session-id"]
            listening = asyncio.create_task(agent.post("/mcp", json=LISTEN, headers=LISTENS))
            await until(lambda: streams.open.total() == 1)
            assert (await board.admin.delete(f"/api/v1/people/{name}")).is_success

            # It ends, though it never would by itself.
            with suppress(AssertionError):
                await listening
            await until(lambda: session not in agents._sessions.open)
    finally:
        await board.board.beside.aclose()
