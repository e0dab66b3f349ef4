"""A sheet that is piped in."""

from __future__ import annotations

import subprocess

from tests.programs import Desk, simple_sheet


def test_a_sheet_may_come_from_standard_input(desk: Desk, name: str) -> None:
    process = desk.start(
        "run", "-", "--campaign", name, "--yes", "--without-prefect", stdin=subprocess.PIPE
    )
    _, err = process.communicate(simple_sheet(1), timeout=60)

    assert process.returncode == 0, err
    assert desk.rows(name)["r001"]["state"] == "delivered"
