"""Nights whose ledger is a PostgreSQL: swept whole, killed, and swept by several at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.nightly_runs import nights_of
from callsheet.tasks.nights.reports import NightReport
from tests.databases import PostgresServer, postgres_server
from tests.pipeline.night_kills import WORDS, sweep_killed
from tests.pipeline.test_nightly import BROKEN, Nights, said, videos
from tests.programs import Desk, Sandbox

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def nights(tmp_path: Path, studio: Sandbox, name: str, postgres: PostgresServer) -> Nights:
    return Nights(tmp_path, studio, name, ledger=postgres.new_database())


async def test_a_night_of_all_kinds_of_sheets_and_one_with_nothing_to_do(nights: Nights) -> None:
    for stem in ("a", "b", "c", "d", "e", "f"):
        nights.put(stem, videos(stem, 3))
    nights.put("broken", BROKEN)
    nights.put("dear", videos("dear", 9))
    terms = {"per_night": Decimal(180), "per_sheet": Decimal(100)}
    first = await nights.sweep(inbox=terms)
    nights.put("f", videos("f", 4))
    again = await nights.sweep(inbox=terms)
    rest = await nights.sweep("2026-11-21", inbox={"per_night": Decimal(1000)})
    quiet = await nights.sweep("2026-11-22")

    made = dict.fromkeys("abcd", "delivered")
    waits = {"dear": "not-approved", "e": "not-approved", "f": "not-approved"}
    assert said(first) == {**made, **waits, "broken": "invalid"}
    assert (first.charged, again.charged) == (180, 0)
    assert said(rest) == {
        **dict.fromkeys("abcd", "unchanged"),
        **dict.fromkeys(("dear", "e", "f"), "delivered"),
        "broken": "invalid",
    }
    assert rest.charged == (9 + 3 + 4) * 15
    assert set(said(quiet).values()) == {"unchanged", "set-aside"}
    assert nights.ledger is not None
    async with await open_ledger(nights.ledger, create=False) as ledger:
        kept = await ledger.read(nights_of, inbox="spring", limit=9)
    told = [NightReport.read(night.report or "").charged for night in kept]
    assert [night.approved for night in kept] == told == [0, 240, 180]
    assert [night.exit for night in kept] == [2, 2, 2]


async def test_several_who_sweep_at_once_keep_to_one_limit(nights: Nights) -> None:
    for stem in "abc":
        nights.put(stem, videos(stem))
    sweeps = (
        nights.sweep(f"2026-11-{20 + n % 2}", inbox={"per_night": Decimal(45)}) for n in range(4)
    )
    found = await asyncio.gather(*sweeps)
    assert sum(report.charged for report in found) == 30
    assert sorted(report.skipped is None for report in found) == [False, False, False, True]


def test_programs_that_sweep_at_once_are_one(nights: Nights) -> None:
    for stem in "abc":
        nights.put(stem, videos(stem))
    assert nights.ledger is not None
    environ = {**nights.service.environ, "CALLSHEET_LEDGER": nights.ledger}
    several = [Desk(nights.folder, environ).start(*WORDS) for _ in range(3)]
    ends = [process.communicate(timeout=300) for process in several]
    assert sum(json.loads(out)["charged"] for out, _ in ends) == 30, ends


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
