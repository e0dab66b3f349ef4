"""How long `status` and `rows --state` take on a ledger of a million rows.

The ledger is made by SQL alone, in the shape that finished campaigns leave: a video for nearly
every
row, a failure for one in a thousand. Half of the rows are one campaign's, the rest nine others'.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from callsheet.tasks.ledger.ledger import open_ledger
from tests.launcher import IMPORTS

ROWS = 1_000_000
CAMPAIGNS = 10
#: The largest campaign, which the commands are asked about.
LARGEST = "campaign-0"
TURNS = 5
#: One row in so many has failed.
FAILED = 5000

_CAMPAIGN = """
INSERT INTO campaigns (id, name, sheet, sheet_digest, reserved, charged, created_at)
VALUES (:id, :name, 'sheet.csv', :name, 0, :rows * 12000000, 1.0)
"""
_NUMBERS = """
WITH RECURSIVE numbers(n) AS (SELECT :first UNION ALL SELECT n + 1 FROM numbers WHERE n < :last)
"""
_ROWS = f"""
{_NUMBERS}
INSERT INTO rows (id, campaign_id, row, position, line, state, since, reason, operation, request,
    digest, nth, captions, enabled, priority, tags, cells, quoted, quoted_at, take_id,
    video_take_id, title)
SELECT n, :id, 'row-' || n, n, n + 1, iif(n % {FAILED}, 'delivered', 'failed'), 5.0,
    iif(n % {FAILED}, NULL, 'the render failed'), 'create',
    json_object('topic', 'Tea ' || n, 'script', hex(zeroblob(90))),
    lower(hex(randomblob(32))), 1, 'srt vtt', 1, 0, '[]',
    json_array(json_array('id', 'row-' || n), json_array('topic', 'Tea ' || n)), 12000000, 2.0, n,
    iif(n % {FAILED}, n, NULL), 'Tea ' || n
FROM numbers
"""
_TAKES = f"""
INSERT INTO takes (id, campaign_id, row_id, number, nth, key, digest, body, quoted, reserved,
    charged, video_id, intended_at, accepted_at, ready_at, delivered_at, day, files)
SELECT id, campaign_id, id, 1, 1, 'cs1_' || substr(digest, 1, 40), digest, CAST(request AS BLOB),
    quoted, 0, quoted, 'vid_' || id, 3.0, 4.0, 5.0, iif(id % {FAILED}, 6.0, NULL), '1970-01-01',
    iif(id % {FAILED}, json_object('mp4', json_object('uri', 's3://videos/row-' || id || '.mp4',
        'sha256', digest, 'bytes', 9000000, 'seconds', 30.0)), NULL)
FROM rows WHERE campaign_id = :id
"""
_EVENTS = """
INSERT INTO events (campaign_id, row_id, take_id, at, kind, old, new)
SELECT campaign_id, id, take_id, since, 'state', 'ready', state FROM rows WHERE campaign_id = :id
"""


@dataclass(frozen=True)
class CommandTime:
    """One command on the ledger: seconds of its whole process, and of its processor, at best."""

    command: str
    whole: float
    processor: float


def make_large_ledger(file: Path, rows: int) -> None:
    """Make a SQLite ledger of so many rows; some twenty seconds for a million."""

    async def make() -> None:
        await (await open_ledger(f"sqlite:///{file}")).aclose()

    asyncio.run(make())
    with closing(sqlite3.connect(file)) as connection:
        # Nothing of it needs to survive a power cut.
        connection.execute("PRAGMA synchronous=OFF")
        for named in _campaigns(rows):
            for statement in (_CAMPAIGN, _ROWS, _TAKES, _EVENTS):
                connection.execute(statement, named)
            connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def measure_large_ledger(folder: Path, rows: int = ROWS) -> list[CommandTime]:
    """Make a ledger of so many rows in `folder`; return what the commands take on it."""
    (folder / ".callsheet").mkdir(parents=True)
    make_large_ledger(folder / ".callsheet" / "ledger.db", rows)
    commands = ("status", f"rows {LARGEST} --state failed")
    return [_time(command, folder) for command in commands]


def _campaigns(rows: int) -> Iterator[dict[str, object]]:
    first = 1
    for number in range(CAMPAIGNS):
        count = rows // 2 if number == 0 else rows // 2 // (CAMPAIGNS - 1)
        name, last = f"campaign-{number}", first + count - 1
        yield {"id": number + 1, "name": name, "first": first, "last": last, "rows": count}
        first = last + 1


def _time(command: str, folder: Path) -> CommandTime:
    """Run a command some times; the least is what it takes, the rest is what disturbed it."""
    found = []
    for _ in range(TURNS):
        started, before = time.perf_counter(), os.times()
        done = subprocess.run(
            [sys.executable, "-m", "callsheet.deployments.cli", *command.split()],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": IMPORTS},
            capture_output=True,
            text=True,
            check=True,
        )
        after = os.times()
        assert LARGEST in done.stdout, done.stdout
        spent = after.children_user + after.children_system
        spent -= before.children_user + before.children_system
        found.append(CommandTime(command, time.perf_counter() - started, spent))
    return CommandTime(command, min(f.whole for f in found), min(f.processor for f in found))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    folder = Path(tempfile.mkdtemp(prefix=".bench-", dir=Path.cwd()))
    try:
        for found in measure_large_ledger(folder / "large", parser.parse_args().rows):
            print(f"{found.command:40} {found.whole:.2f} s, processor {found.processor:.2f} s")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
