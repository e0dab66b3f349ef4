"""Rows in numbers take little memory: those that wait to begin none, those under way little."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callsheet.tasks.ledger.ledger import open_ledger
from tests.programs import ROOT
from tests.unit.engine.carrying import add_approved, add_rendering

pytestmark = pytest.mark.merge

Add = Callable[..., None]
FEW, MANY = 1_000, 10_000


def carried(folder: Path, add: Add, count: int, *, calls: int) -> dict[str, Any]:
    """Carry rows in a process of its own; return what it prints."""
    ledger = folder / f"{count}.db"

    async def make() -> None:
        async with await open_ledger(f"sqlite:///{ledger}") as made:
            await made.write(add, count=count, at=time.time())

    asyncio.run(make())
    words = [sys.executable, "-m", "tests.unit.engine.carrying", str(ledger), str(calls)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, timeout=240)
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("add", "calls", "most"),
    [
        # Two pages of them are in memory, however many there are.
        pytest.param(add_approved, lambda count: 100, 10_000, id="that wait to begin"),
        pytest.param(add_rendering, lambda count: count, 25_000, id="that are under way"),
    ],
)
def test_ten_thousand_rows_take_little_more_memory_than_a_thousand(
    tmp_path: Path, add: Add, calls: Callable[[int], int], most: int
) -> None:
    few, many = (carried(tmp_path, add, n, calls=calls(n)) for n in (FEW, MANY))
    assert sum(few["rows"].values()) == FEW
    assert sum(many["rows"].values()) == MANY
    assert many["peak"] - few["peak"] < most, (few, many)
