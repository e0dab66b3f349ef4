"""What a ledger tells whoever watches it, and that it is not read whole for that."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from callsheet.tasks.ledger.gauges import RECENT, Gauging, LedgerGauges, keeping_counts
from callsheet.tasks.ledger.ledger import Ledger, open_ledger

NOW = 1_800_000_000.0
HOUR = 3600.0
OLD = NOW - RECENT - HOUR
_CAMPAIGN = """INSERT INTO campaigns (id, name, budget, reserved, charged, created_at)
    VALUES (?, ?, ?, ?, ?, ?)"""
_ROW = """INSERT INTO rows (campaign_id, row, position, line, state, since, operation, request,
    digest, nth, captions, enabled, priority, tags, cells, quoted)
    VALUES (?, ?, 1, 1, ?, ?, 'create', '', '', 1, '', 1, 0, '[]', '[]', ?)"""
_EVENT = "INSERT INTO events (campaign_id, at, kind) VALUES (?, ?, 'x')"


@dataclass
class Kept:
    """A ledger on a disk, asked as often as a test likes."""

    file: Path
    now: float = NOW

    def __post_init__(self) -> None:
        self.gauging = Gauging(lambda: self.now)
        self.look()

    def do(self, statement: str, *values: object) -> None:
        with closing(sqlite3.connect(self.file)) as connection, connection:
            connection.execute(statement, values)

    def campaign(self, number: int, *, created: float = NOW, last: float | None = None) -> None:
        self.do(_CAMPAIGN, number, f"c{number}", 50_000_000, 6_000_000, 24_000_000, created)
        if last is not None:
            self.do(_EVENT, number, last)

    def look(self) -> LedgerGauges:
        async def ask() -> LedgerGauges:
            async with await open_ledger(f"sqlite:///{self.file}") as ledger:
                return await ledger.read(self.gauging.ask)

        return asyncio.run(ask())


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "ledger.db")


@pytest.mark.parametrize(
    ("row", "last", "told"),
    [
        ("delivered", NOW - HOUR, True),
        ("delivered", OLD, False),
        ("cancelled", OLD, False),
        ("failed", OLD, True),
        ("approved", OLD, True),
        (None, OLD, False),
    ],
)
def test_campaigns_with_open_rows_and_those_of_late_are_told_of(kept: Kept, row, last, told):
    kept.campaign(1, created=last, last=last)
    if row:
        kept.do(_ROW, 1, "r1", row, last, None)

    assert bool(kept.look().campaigns) is told


def test_accounts_nights_backup_and_hints_are_told(kept: Kept) -> None:
    account = "INSERT INTO accounts (kind, name, budget, reserved, charged) VALUES (?, ?, ?, ?, ?)"
    for kind, name, budget, reserved, charged in (
        ("day", "2027-01-15", 9_000_000, 1_000_000, 3_000_000),
        ("day", "2027-01-14", 9_000_000, 0, 0),
        ("month", "2027-01", 90_000_000, 0, 4_000_000),
        ("month", "2026-12", 90_000_000, 0, 0),
        ("cost_center", "sales", 7_000_000, 0, 7_000_000),
        ("cost_center", "none", None, 0, 7_000_000),
        ("run", "x", 7_000_000, 0, 0),
    ):
        kept.do(account, kind, name, budget, reserved, charged)
    night = """INSERT INTO nights (inbox, date, zone, begun_at, ended_at, exit)
        VALUES (?, ?, 'UTC', 1, ?, ?)"""
    kept.do(night, "in", "2027-01-13", NOW - 30 * HOUR, 3)
    kept.do(night, "in", "2027-01-14", NOW - 6 * HOUR, 0)
    kept.do(night, "in", "2027-01-15", None, None)
    kept.do(night, "gone", "2026-01-15", NOW - 365 * 24 * HOUR, 0)
    kept.do("INSERT INTO acts (at, by, act) VALUES (?, 'ann', 'backup')", NOW - HOUR)
    kept.do("INSERT INTO hints (digest, nonce, ping, heard_at) VALUES ('d', 'n', 0, ?)", NOW - 9)

    found = kept.look()
    assert sorted((a.kind, a.name, int(a.left)) for a in found.accounts) == [
        ("cost_center", "sales", 0),
        ("day", "2027-01-15", 5),
        ("month", "2027-01", 86),
    ]
    assert [(n.inbox, n.ended_at, n.exit) for n in found.nights] == [("in", NOW - 6 * HOUR, 0)]
    assert (found.backup_at, found.heard_at) == (NOW - HOUR, NOW - 9)


async def test_what_is_counted_is_added_up_in_the_ledger(ledger: Ledger) -> None:
    for _ in range(2):
        async with keeping_counts(ledger):
            ledger.measures.requested("create", "ok", attempt=1)
            ledger.measures.requested("create", "limited", attempt=2)
            ledger.measures.delivered(100)
    before = ledger.commits
    async with keeping_counts(ledger):
        pass

    assert ledger.commits == before, "who has counted nothing writes nothing"
    assert (await ledger.read(Gauging().ask)).counts == {
        ("requests", "create ok"): 2,
        ("requests", "create limited"): 2,
        ("retries", "create"): 2,
        ("deliveries", "120"): 2,
        ("delivery_seconds", ""): 200,
    }
