"""Webhooks where several carry a campaign: each worker hears of its videos, and nobody waits for
less.

The receiver is a process of its own, as beside a campaign that several machines carry.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.databases import PostgresServer
from tests.fixtures import sandbox_fixture
from tests.programs import Desk, Sandbox, simple_sheet
from tests.web import free_port
from tests.workers.stand import Processes, run_with

#: A render takes so long, in seconds: longer than it takes to come to the first look without one.
RENDER = 3.0


service = sandbox_fixture("--allow-loopback-webhooks", "--credits", "1000000")


@pytest.fixture
def desk(tmp_path: Path, service: Sandbox, postgres: PostgresServer) -> Desk:
    port = free_port()
    environ = {
        "CALLSHEET_LEDGER": postgres.new_database(),
        "CALLSHEET_LEASE": "5s",
        "CALLSHEET_STORE": str(tmp_path / "videos"),
        "CALLSHEET_WEBHOOK_URL": f"http://127.0.0.1:{port}/hooks",
        "CALLSHEET_RECEIVER": f"127.0.0.1:{port}",
    }
    return Desk(tmp_path, {**service.environ, **environ})


@pytest.mark.safeguard(
    "tasks/campaign/workers.py",
    "return self\n\n    async def start(self) -> None:",
    "await self.start()\n        return self\n\n    async def start(self) -> None:",
)
@pytest.mark.merge
async def test_workers_look_once_at_what_they_hear_of(desk: Desk, service: Sandbox) -> None:
    sheet = str(desk.folder / desk.sheet("heard.csv", simple_sheet(6)))
    processes = Processes(desk.folder, desk.environment())
    service.plan_fault(on="render", do="slow", every=1, seconds=RENDER)
    receiver = desk.start("receive", "--json")
    assert "receiver" in json.loads(receiver.stdout.readline())
    try:
        outcome = await run_with(processes, sheet, 2, wait="webhook")
    finally:
        service.clear_faults()
        receiver.send_signal(signal.SIGTERM)
        receiver.communicate(timeout=60)

    assert outcome.exit_status == 0, outcome
    said = processes.ended()
    assert Counter(row["state"] for row in desk.rows("heard").values()) == {"delivered": 6}
    assert sum(one["rows"].get("delivered", 0) for one in said.values() if one) == 6
    assert service.calls()["get"] == 6
