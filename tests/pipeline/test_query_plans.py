"""No statement of a run or of a command reads a whole table that grows with the ledger.

The statements are those that the commands really give to a ledger; SQLite says how it would go
about each.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from callsheet.tasks.ledger.ledger import open_ledger
from tests.programs import Desk, simple_sheet
from tests.statements import statements

GROWING = ("rows", "takes", "events", "hints", "hinted")
#: Read from the newest on, and no further than the rows that are wanted.
ENDS_EARLY = re.compile(r"ORDER BY takes\.id DESC\s+LIMIT")
COMMANDS = (
    "run {}.csv --yes --json --without-prefect",
    "run {}.csv --yes --json --without-prefect",
    "plan {}.csv",
    "status",
    "status {} --accounts",
    "rows {}",
    "rows {} --state rejected --json",
    "explain {} r001",
    "verify {}",
    "reconcile",
    "export {} --what rows",
    "export {} --what takes",
    "export {} --what events",
    "export {} --what chargeback",
    "export {} --what traffic",
    "retake {} r001 --yes --because x",
    "cancel {} --yes",
    "resolve",
    "run {}.csv --yes --json --without-prefect",
)


@pytest.fixture
def told() -> Iterator[dict[str, int]]:
    with statements() as found:
        yield found


def test_no_command_reads_a_whole_table(desk: Desk, name: str, told: dict[str, int]) -> None:
    ledger = desk.folder / ".callsheet" / "ledger.db"
    asyncio.run(make(ledger))
    text = simple_sheet(3) + "bad,product-launch,Kettle,Bad,5000,9:16\n"
    (desk.folder / f"{name}.csv").write_text(text)
    found = []
    for command in COMMANDS:
        told.clear()
        desk.call(*command.format(name).split())
        assert told, command
        with closing(sqlite3.connect(ledger)) as connection:
            found += [
                f"{command}: {step}: {' '.join(text.split())}"
                for text, count in told.items()
                for step in whole_tables(connection, text, count)
            ]
    assert not found, "\n".join(found)


async def make(ledger: Path) -> None:
    await (await open_ledger(f"sqlite:///{ledger}")).aclose()


def whole_tables(connection: sqlite3.Connection, statement: str, parameters: int) -> list[str]:
    """Return the steps in which SQLite would read the whole of a table that grows."""
    first = statement.split(maxsplit=1)[0].upper()
    if first not in ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH") or ENDS_EARLY.search(
        statement
    ):
        return []
    plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", [None] * parameters)
    scan = re.compile(rf"SCAN ({'|'.join(GROWING)})\b")
    return [step for *_, step in plan if scan.match(step)]
