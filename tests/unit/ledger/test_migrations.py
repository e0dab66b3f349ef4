"""The migrations make exactly the schema that the program works with."""

from __future__ import annotations

from functools import partial
from typing import Any

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.engine import make_url

from tasks.ledger import (
    all_campaigns,
    open_ledger,
    schema_board,  # noqa: F401
    schema_nights,  # noqa: F401
    takes_of,
    unsettled_calls,
)
from tasks.ledger.schema import REVISION, VERSION_TABLE, metadata


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
    config.set_main_option("script_location", "tasks.ledger:migrations")
    config.set_main_option("path_separator", "os")
    return ScriptDirectory.from_config(config)


def test_the_schema_names_the_newest_migration():
    assert scripts().get_heads() == [REVISION]


def make_older(address: str, revision: str, *statements: str) -> None:
    """Make a ledger as it was once, and write into it."""
    url = make_url(address)
    url = url if url.drivername == "sqlite" else url.set(drivername="postgresql+psycopg")
    config = Config()
    config.set_main_option("script_location", "tasks.ledger:migrations")
    config.set_main_option("path_separator", "os")
    engine = create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


CAMPAIGN = "INSERT INTO campaigns (name, reserved, charged, created_at) VALUES ('{}', 0, {}, 1)"


async def test_a_take_learns_whose_it_is_from_its_row(ledger_address: str):
    body = "X'7B7D'" if ledger_address.startswith("sqlite") else "'{}'"
    make_older(
        ledger_address,
        "0008",
        *(CAMPAIGN.format(name, 0) for name in ("spring", "autumn")),
        "INSERT INTO rows (campaign_id, row, position, line, state, since, operation, request, "
        "digest, nth, captions, enabled, priority, tags, cells) SELECT id, name, 1, 2, 'failed', "
        "1, 'create', '{}', 'd', 1, '', NULL IS NULL, 0, '[]', '[]' FROM campaigns",
        "INSERT INTO takes (row_id, number, nth, key, digest, body, reserved, intended_at) "
        f"SELECT id, 1, 1, row, 'd', {body}, 0, 1 FROM rows WHERE row = 'autumn'",
    )
    async with await open_ledger(ledger_address) as ledger:
        found = {c.name: c.id for c in await ledger.read(all_campaigns)}
        (one,) = await ledger.read(partial(takes_of, campaign_id=found["autumn"]))
        assert one[1].key == "autumn"
        assert await ledger.read(partial(takes_of, campaign_id=found["spring"])) == []


async def test_a_ledger_of_the_first_release_is_brought_up_to_date(ledger_address: str):
    make_older(ledger_address, "0001", CAMPAIGN.format("spring", 7_000_000))
    async with await open_ledger(ledger_address) as ledger:
        (campaign,) = await ledger.read(all_campaigns)
        assert await ledger.read(unsettled_calls) == []
    assert (campaign.name, campaign.charged) == ("spring", 7)


async def test_a_ledger_of_before_goes_on_with_a_version_table_of_its_own(ledger_address: str):
    make_older(
        ledger_address,
        "0012",
        CAMPAIGN.format("spring", 7_000_000),
        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)",
        f"INSERT INTO alembic_version SELECT version_num FROM {VERSION_TABLE}",
        f"DROP TABLE {VERSION_TABLE}",
    )
    async with await open_ledger(ledger_address, create=False) as ledger:
        (campaign,) = await ledger.read(all_campaigns)
        names = await ledger.read(lambda connection: inspect(connection).get_table_names())
    assert (campaign.name, campaign.charged) == ("spring", 7)
    assert VERSION_TABLE in names
    assert "alembic_version" not in names
