"""A run killed with SIGKILL at random moments: one charge a row, every row delivered.

The checker reads the sandbox's own charge log and the files in the store first, and only then
compares the ledger with both.
"""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest

from tests.programs import Desk, kill_at_call, sandbox, simple_sheet

ROWS, KILLS = 60, 5


@pytest.mark.merge
def test_five_kills_cost_nothing_but_time(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"the seed of the moments is {seed}")
    chance = random.Random(seed)
    with sandbox(tmp_path / "service") as service:
        desk = Desk(tmp_path, service.environ)
        sheet = desk.sheet("killed.csv", simple_sheet(ROWS))
        kills = 0
        while kills < KILLS:
            process = desk.start("run", sheet, "--yes", "--without-prefect")
            # Some hit the first creates, some the middle, some the deliveries.
            if not kill_at_call(process, service, chance.randrange(1, 50)):
                break
            kills += 1
        ended = desk.run(sheet)

        assert kills == KILLS, "the run was over too soon for this test to show anything"
        assert ended.status == 0, ended.err
        charged = [c for c in service.charges() if c["event"] == "charge"]
        assert len(charged) == ROWS
        assert len({c["idempotency_key"] for c in charged}) == ROWS
        rows = desk.rows("killed")
        assert {row["key"] for row in rows.values()} == {c["idempotency_key"] for c in charged}
        assert ended.json["rows"] == {"total": ROWS, "delivered": ROWS}
        assert ended.json["credits"]["charged"] == sum(c["credits"] for c in charged)
        for row in rows.values():
            for file in row["deliveries"]:
                content = Path(file["uri"]).read_bytes()
                assert hashlib.sha256(content).hexdigest() == file["sha256"]
        left = [f for f in (tmp_path / "deliveries").rglob("*") if f.name.startswith(".")]
        assert not left, "half-written files were left behind"
