"""`callsheet mcp` as a program: a real client over stdin and stdout, a sandbox behind it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.board.test_command import board
from tests.fixtures import sandbox_fixture
from tests.mcp.conftest import LIMIT, ROW, call, finished, refused, sheet_of
from tests.programs import CALLSHEET, Desk, Sandbox

pytestmark = pytest.mark.merge


#: A sandbox whose videos take some seconds.
slow_service = sandbox_fixture("--time-scale", "30")


def server(desk: Desk, *words: str) -> StdioServerParameters:
    """Return how a client starts the server in a folder."""
    command = [*CALLSHEET, "mcp", *words]
    return StdioServerParameters(
        command=command[0], args=command[1:], cwd=desk.folder, env=desk.environment()
    )


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_run_outlives_the_server_and_its_stdout_is_the_protocol(
    tmp_path: Path, slow_service: Sandbox, mode: str
) -> None:
    desk = Desk(tmp_path, environ=slow_service.environ)
    before = slow_service.balance()
    desk.sheet("spring.csv", sheet_of(2, title=mode))
    allowed = desk.call("allow", "agent:claude", "--credits", str(3 * ROW), "--per-day")
    assert allowed.status == 0
    params = server(desk, "--agent", "agent:claude")
    with (tmp_path / "err").open("w") as err:
        async with Client(stdio_client(params, errlog=err), mode=mode) as client:
            plan = await call(client, "plan", sheet="spring.csv")
            run = await call(client, "run_plan", plan=plan["plan"])
    assert "Traceback" not in (tmp_path / "err").read_text()
    until = time.monotonic() + LIMIT
    while desk.call("status", "spring", "--json").json["rows"].get("delivered") != 2:
        assert time.monotonic() < until
        await asyncio.sleep(0.5)
    async with Client(server(desk, "--agent", "agent:claude"), mode=mode) as client:
        assert (await call(client, "run_plan", plan=plan["plan"]))["run"] == run["run"]
        await finished(client, "spring")
    assert before - slow_service.balance() == 2 * ROW
    listed = desk.call("allow", "--json").json["agents"]
    assert listed[0]["approved_today"] == 2 * ROW


@pytest.mark.merge
async def test_nobody_is_asked_with_never_ask(tmp_path: Path, slow_service: Sandbox) -> None:
    async def yes(*_: object) -> object:
        raise AssertionError("nobody is asked")

    desk = Desk(tmp_path, environ=slow_service.environ)
    params = server(desk, "--never-ask", "--url", "https://board.example")
    async with Client(params, elicitation_callback=yes) as client:  # type: ignore[arg-type]
        plan = await call(client, "plan", sheet=sheet_of(1), campaign="never")
        said = await refused(client, "run_plan", plan=plan["plan"])
    # No board answers there: a person is told to start one.
    assert (plan["approve_at"], said["approve_at"]) == (None, None)
    assert "`callsheet board`" in said["remedy"]


@pytest.mark.merge
async def test_a_person_is_sent_to_a_board_of_this_ledger(
    tmp_path: Path, slow_service: Sandbox
) -> None:
    desks = [Desk(tmp_path / name, environ=slow_service.environ) for name in ("own", "other")]
    for one in desks:
        one.folder.mkdir()
    own, other = desks
    with board(own) as (ready, _), board(other) as (elsewhere, _):
        for words, where in (((), ready["url"]), (("--url", elsewhere["url"]), None)):
            async with Client(server(own, *words)) as client:
                plan = await call(client, "plan", sheet=sheet_of(1), campaign="asks")
                link = f"{where}/plans/{plan['plan']}" if where else None
                assert plan["approve_at"] == link
                assert (await refused(client, "run_plan", plan=plan["plan"]))["approve_at"] == link


@pytest.mark.always
def test_a_name_that_is_no_agent_is_refused(tmp_path: Path) -> None:
    ended = Desk(tmp_path).call("mcp", "--agent", "Ada")
    assert (ended.status, ended.out) == (2, "")
    assert "not the name of an agent" in ended.err


@pytest.mark.merge
async def test_servers_of_an_agent_share_its_credits(tmp_path: Path, slow_service: Sandbox) -> None:
    desk = Desk(tmp_path, environ=slow_service.environ)
    before = slow_service.balance()
    assert desk.call("allow", "agent:claude", "--credits", str(2 * ROW), "--per-day").status == 0

    async def spend(name: str) -> int:
        async with Client(server(desk, "--agent", "agent:claude")) as client:
            plans = [
                (await call(client, "plan", sheet=sheet_of(1, title=title), campaign=title))["plan"]
                for title in (f"{name}-one", f"{name}-two")
            ]
            asked = [client.call_tool("run_plan", {"plan": plan}) for plan in 2 * plans]
            return sum(not answer.is_error for answer in await asyncio.gather(*asked))

    # The same plan twice is one run: two plans of the four, each asked for twice.
    assert sum(await asyncio.gather(spend("first"), spend("second"))) == 4
    until = time.monotonic() + LIMIT
    while sum(one["rows"].get("delivered", 0) for one in
              desk.call("status", "--json").json["campaigns"]) != 2:  # fmt: skip
        assert time.monotonic() < until
        await asyncio.sleep(0.5)
    assert before - slow_service.balance() == 2 * ROW
