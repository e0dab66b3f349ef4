"""Ledgers on real databases: every test that asks for one runs on SQLite and on PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from tests.campaigns import Stage, brief
from tests.databases import PostgresServer, empty_ledger, make_ledger

# A machine that is busy with other tests is slow for a second: that says nothing of an example.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(params=["sqlite", "postgres"])
def ledger_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a ledger that is not there yet."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres").new_database())
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture(scope="session")
def made_database(postgres: PostgresServer) -> str:
    """The address of a PostgreSQL ledger that one test after the other uses."""
    address = postgres.new_database()
    make_ledger(address)
    return address


@pytest.fixture(params=["sqlite", "postgres"])
def made_address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty ledger; quicker to have than to make."""
    if request.param == "postgres":
        address = str(request.getfixturevalue("made_database"))
        yield address
        empty_ledger(address)
    else:
        shutil.copy(request.getfixturevalue("made_ledger"), tmp_path / "made.db")
        yield f"sqlite:///{tmp_path / 'made.db'}"


@pytest.fixture
async def ledger(made_address: str) -> AsyncIterator[Ledger]:
    async with await open_ledger(made_address) as ledger:
        yield ledger


@pytest.fixture
async def stage(ledger: Ledger) -> Stage:
    """A campaign whose sheet has one row."""
    return await Stage.set(ledger, brief())
