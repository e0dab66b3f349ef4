"""The migrations make exactly the schema that the program works with."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, select, text
from sqlalchemy.engine import make_url

from callsheet.tasks.ledger.campaigns import all_campaigns
from callsheet.tasks.ledger.distributed_runs import find_production
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.maintenance import upgrade_ledger
from callsheet.tasks.ledger.schema import FIRST, REVISION, VERSION_TABLE, metadata
from callsheet.tasks.ledger.schema_runs import batches
from callsheet.tasks.ledger.service_state import unsettled_calls
from callsheet.tasks.runtime.errors import LedgerError


async def test_migrations_produce_the_schema(ledger_address: str):
    def differences(connection):
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": True,
                "compare_server_default": True,
                "version_table": VERSION_TABLE,
                "include_object": is_used,
            },
        )
        return compare_metadata(context, metadata)

    async with await open_ledger(ledger_address) as ledger:
        assert await ledger.read(differences) == []


def is_used(one: Any, name: str, kind: str, reflected: bool, known: Any) -> bool:
    """Whether programs use it: what migrations have left is there until a later one drops it."""
    whole = name if kind == "table" else f"{one.table.name}.{name}"
    left = (getattr(script.module, "leaves", ()) for script in scripts().walk_revisions())
    return known is not None or not reflected or all(whole not in names for names in left)


def scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", "callsheet.tasks.ledger:migrations")
    config.set_main_option("path_separator", "os")
    return ScriptDirectory.from_config(config)


def upgraded(address: str) -> str:
    """Have a person upgrade a ledger on PostgreSQL; on SQLite every command does so."""
    if not address.startswith("sqlite"):
        upgrade_ledger(address, by="Ann", at=1.0)
    return address


def test_the_schema_names_the_newest_migration():
    assert scripts().get_heads() == [REVISION]


def make_older(address: str, revision: str, *statements: str) -> None:
    """Make a ledger as it was once, and write into it."""
    url = make_url(address)
    url = url if url.drivername == "sqlite" else url.set(drivername="postgresql+psycopg")
    config = Config()
    config.set_main_option("script_location", "callsheet.tasks.ledger:migrations")
    config.set_main_option("path_separator", "os")
    engine = create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


CAMPAIGN = "INSERT INTO campaigns (name, reserved, charged, created_at) VALUES ('{}', 0, {}, 1)"


async def test_a_ledger_of_the_first_release_is_brought_up_to_date(ledger_address: str):
    make_older(ledger_address, FIRST, CAMPAIGN.format("spring", 7_000_000))
    async with await open_ledger(upgraded(ledger_address)) as ledger:
        (campaign,) = await ledger.read(all_campaigns)
        assert await ledger.read(unsettled_calls) == []
    assert (campaign.name, campaign.charged) == ("spring", 7)


@pytest.mark.parametrize("schema", ["0001", "0020"])
async def test_a_ledger_from_before_the_first_release_is_refused(
    ledger_address: str, schema: str
) -> None:
    make_older(ledger_address, FIRST, f"UPDATE {VERSION_TABLE} SET version_num = '{schema}'")
    with pytest.raises(LedgerError, match=f"schema {schema}, of a Callsheet before its first rel"):
        await open_ledger(ledger_address)
    with pytest.raises(LedgerError, match="nothing was spent"):
        upgrade_ledger(ledger_address, by="Ann", at=1.0)


async def test_workers_and_their_batches_are_found_again(ledger_address: str) -> None:
    make_older(
        ledger_address,
        FIRST,
        CAMPAIGN.format("spring", 0),
        "INSERT INTO productions (id, campaign_id, owner, crews, batch_size, organisation, store, "
        "terms, begun_at, hinted) SELECT 'x', id, 'a run', 3, 1, 'o', 's', '{}', 1, NULL IS NULL "
        "FROM campaigns",
        "INSERT INTO batches (production_id, crew, holder, size, claimed_at) "
        "VALUES ('x', 2, 'one', 1, 4)",
    )
    async with await open_ledger(upgraded(ledger_address)) as ledger:
        production = await ledger.read(partial(find_production, production_id="x"))
        worker = await ledger.read(lambda connection: connection.scalar(select(batches.c.worker)))
    assert production is not None
    assert (production.workers, worker) == (3, 2)
