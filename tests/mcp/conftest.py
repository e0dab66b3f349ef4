"""An MCP server in this process, on a ledger of its own, with a sandbox for all tests.

async def test_it_lists_campaigns(desk: OpenDesk) -> None:
    async with desk.client() as client:
        await client.call_tool("list_campaigns", {})
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp_types import CallToolResult, ElicitResult

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.run_monitor import monitoring
from callsheet.deployments.board.services.videos import Videos
from callsheet.deployments.commands.allow import allow_agent
from callsheet.deployments.mcp.caller import Desk
from callsheet.deployments.mcp.server import make_server
from callsheet.tasks.ledger.ledger import open_ledger
from tests.board.conftest import by_test, forked_run, settings_at
from tests.databases import lay_ledger
from tests.fixtures import sandbox_fixture
from tests.programs import Sandbox

AGENT = "agent:test"
#: The price of a row of `sheet_of`, in credits.
ROW = 60
Answer = Literal["accept", "no", "decline", "cancel"]
LIMIT = 120.0


def sheet_of(rows: int, *, title: str = "Video") -> str:
    """Return the text of a sheet."""
    lines = [f"r{n},{title} {n},Lighthouse,Here is the lighthouse." for n in range(rows)]
    return "\n".join(("id,title,topic,script", *lines)) + "\n"


@dataclass
class OpenDesk:
    """A server at work; `asked` are the questions that a client was asked."""

    desk: Desk
    asked: list[str] = field(default_factory=list)

    def client(self, answer: Answer | None = None, *, mode: str = "auto", **how: Any) -> Client:
        """Return a client; with an answer, one that can ask, and whose person gives this answer."""

        async def ask(_: Any, asked: Any) -> ElicitResult:
            self.asked.append(asked.message)
            if answer in ("accept", "no"):
                return ElicitResult(action="accept", content={"approve": answer == "accept"})
            assert answer in ("decline", "cancel")
            return ElicitResult(action=answer)

        server: MCPServer[Desk] = make_server(replace(self.desk, **how))
        return Client(server, mode=mode, elicitation_callback=ask if answer else None)

    async def allow(self, credits: int) -> None:
        """Let the agent approve so many credits a day."""
        await allow_agent(by_test(self.desk.board), AGENT, Decimal(credits))


async def call(client: Client, tool: str, **named: Any) -> dict[str, Any]:
    """Call a tool that has to succeed."""
    answer = await client.call_tool(tool, named)
    assert not answer.is_error, answer.content
    return dict(answer.structured_content)


async def refused(client: Client, tool: str, **named: Any) -> dict[str, Any]:
    """Call a tool that has to be refused: the answer says what was charged and what to do."""
    answer: CallToolResult = await client.call_tool(tool, named)
    assert answer.is_error
    said = json.loads(answer.content[0].text)  # type: ignore[union-attr]
    assert said == answer.structured_content
    assert said["charged"] == 0
    assert said["remedy"]
    return dict(said)


async def finished(client: Client, campaign: str) -> dict[str, Any]:
    """Wait until every run of a campaign is over; return its status."""
    until = time.monotonic() + LIMIT
    while True:
        said = await call(client, "status", campaign=campaign)
        if said["runs"] and {run["state"] for run in said["runs"]} == {"finished"}:
            return said
        assert time.monotonic() < until, said
        await asyncio.sleep(0.2)


#: A sandbox whose videos are ready at once.
service = sandbox_fixture("--time-scale", "200")


@pytest.fixture
async def desk(tmp_path: Path, made_ledger: Path, service: Sandbox) -> AsyncIterator[OpenDesk]:
    """A server for one agent without an allowance, as `callsheet mcp` has it."""
    lay_ledger(tmp_path, made_ledger)
    async with desk_at(tmp_path, service.environ) as opened:
        yield opened


@asynccontextmanager
async def desk_at(folder: Path, environ: Mapping[str, str]) -> AsyncIterator[OpenDesk]:
    """Open a server on the ledger of a folder."""
    settings = settings_at(folder, environ)
    async with await open_ledger(settings.ledger) as ledger:
        board = Board(settings=settings, ledger=ledger, origin="http://board", begin=forked_run)
        await allow_agent(by_test(board), AGENT)
        async with monitoring(board):
            yield OpenDesk(Desk(board=board, videos=Videos(board), agent=AGENT, folder=folder))
