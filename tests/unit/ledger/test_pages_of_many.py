"""A page of three thousand rows costs what one of three hundred does, in steps of the database.

SQLite counts the steps of its own machine: no clock is read. Nothing that a page asks for reads a
whole table, on a ledger with other campaigns beside.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_history import events_between, horizon, whole_row
from callsheet.tasks.ledger.row_pages import count_shown, counts_of, shown_rows
from tests.bench.large_ledger import make_large_ledger

SIZES = (300, 3_000)
#: Steps between two calls of the counter.
EVERY = 50

_SAID = """
UPDATE takes
SET review = iif(id % 50 = 0, 'reject', 'keep'), reviewed_by = 'Ann', reviewed_at = 1.0
WHERE campaign_id = 1 AND id % 10 < 9
"""
_FLAGS = "UPDATE takes SET flagged = iif(id % 100 = 0, 2, 0), checks = '{}' WHERE campaign_id = 1"

#: Pages that are found in order, or by what is rare about their rows.
PAGES: dict[str, dict[str, Any]] = {
    "all": {},
    "behind a page": {"after": "sheet~0.0~150~150"},
    "one state of all": {"which": RowFilter.of(state="delivered")},
    "a rare state": {"which": RowFilter.of(state="failed")},
    "undecided": {"which": RowFilter.of(review="none")},
    "kept": {"which": RowFilter.of(review="keep")},
    "worst first": {"sort": "worst"},
    "named": {"which": RowFilter.of(row=["row-7", "row-9"])},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Ledgers whose first campaign has so many rows; nine others have as many in all."""
    folder = tmp_path_factory.mktemp("many")
    files = {rows: folder / f"{rows}.db" for rows in SIZES}
    for rows, file in files.items():
        make_large_ledger(file, rows * 2)
        with closing(sqlite3.connect(file)) as connection:
            connection.execute(_SAID)
            connection.execute(_FLAGS)
            connection.commit()
    return files


async def steps(file: Path, *queries: Callable[[Connection], Any]) -> list[int]:
    """How many steps SQLite takes for each query."""
    async with await open_ledger(f"sqlite:///{file}") as ledger:
        return [await ledger.read(_count, query=query) for query in queries]


def _count(connection: Connection, query: Callable[[Connection], Any]) -> int:
    counted = 0

    def tick() -> int:
        nonlocal counted
        counted += EVERY
        return 0

    driver: Any = connection.connection.driver_connection
    driver.set_progress_handler(tick, EVERY)
    query(connection)
    driver.set_progress_handler(None, 0)
    return counted


async def test_a_page_costs_the_same_however_many_rows_there_are(made: dict[int, Path]) -> None:
    queries = [partial(shown_rows, campaign_id=1, limit=50, **how) for how in PAGES.values()]
    few, many = [await steps(file, *queries) for file in made.values()]
    # Counts decide how a page is found: an index is counted through, some steps a row.
    more = (SIZES[1] - SIZES[0]) * 12
    costs = {case: (a, b) for case, a, b in zip(PAGES, few, many, strict=True)}
    assert all(b < a * 1.5 + more for a, b in costs.values()), costs
    for case in ("all", "behind a page"):
        a, b = costs[case]
        assert b < a * 1.5, costs


async def test_one_row_and_new_events_cost_the_same(made: dict[int, Path]) -> None:
    queries = [
        partial(whole_row, campaign_id=1, row="row-7"),
        partial(events_between, campaign_id=1, after=10, upto=20),
        horizon,
    ]
    few, many = [await steps(file, *queries) for file in made.values()]
    assert all(b < a * 1.5 + EVERY for a, b in zip(few, many, strict=True)), (few, many)








