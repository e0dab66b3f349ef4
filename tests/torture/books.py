"""The ledger as it lies in its database, read with plain SQL and none of the program's code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool

MICRO = 1_000_000
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Books:
    """Everything that a ledger says of its one campaign, and of calls without a key."""

    campaign: Line
    rows: tuple[Line, ...]
    takes: tuple[Line, ...]
    deliveries: tuple[Line, ...]
    events: tuple[Line, ...]
    calls: tuple[Line, ...]


def read_books(address: str) -> Books:
    """Read a ledger that nobody writes to any more."""
    with _connected(address) as connection:
        tables = ("campaigns", "rows", "takes", "events", "calls")
        found = {table: _lines(connection, table) for table in tables}
        deliveries = tuple(_deliveries(found["takes"]))
        leased = text("SELECT owner FROM leases WHERE name = :name")
        (campaign,) = found.pop("campaigns")
        name = {"name": f"campaign:{campaign['id']}"}
        campaign["owner"] = connection.scalar(leased, name)
    return Books(campaign=campaign, deliveries=deliveries, **found)


def _deliveries(takes: tuple[Line, ...]) -> Iterator[Line]:
    """Yield a line for each file of each take."""
    for take in takes:
        for kind, file in json.loads(take["files"] or "{}").items():
            yield {"take_id": take["id"], "kind": kind, **file}


def read_calls(address: str) -> tuple[Line, ...]:
    """Read the paid calls without a key alone, of a ledger that may have no campaign."""
    with _connected(address) as connection:
        return _lines(connection, "calls")


def _lines(connection: Connection, table: str) -> tuple[Line, ...]:
    listed = connection.execute(text(f"SELECT * FROM {table} ORDER BY id"))
    return tuple(dict(line) for line in listed.mappings())


@contextmanager
def _connected(address: str) -> Iterator[Connection]:
    address = address.replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(address, poolclass=NullPool)
    with engine.connect() as connection:
        yield connection
