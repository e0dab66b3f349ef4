"""Nights whose ledger is a PostgreSQL: swept whole, killed, and swept by several at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.databases import PostgresServer
from tests.pipeline.night_kills import sweep_killed
from tests.programs import Sandbox

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "point",
    [
        "night: it is claimed",
        "ledger: after the commit (steps._approve)",
        "night: what was approved is in the rows",
        "night: the answer lies beside the sheet",
        "night: what became of the sheet is kept",
        "night: before its end is noted",
    ],
)
def test_a_night_that_is_killed_is_taken_up_within_the_same_limit(
    tmp_path: Path, studio: Sandbox, name: str, postgres: PostgresServer, point: str
) -> None:
    trial = sweep_killed(tmp_path, studio, name, point, ledger=postgres.new_database())
    assert trial.killed
    assert trial.findings == []
