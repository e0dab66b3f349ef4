"""The migrations make exactly the schema that the program works with."""

from __future__ import annotations

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from tasks.ledger import all_campaigns, open_ledger, unsettled_calls
from tasks.ledger.schema import REVISION, metadata


async def test_migrations_produce_the_schema(ledger_address: str):
    def differences(connection):
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        return compare_metadata(context, metadata)

    async with await open_ledger(ledger_address) as ledger:
        assert await ledger.read(differences) == []


def test_the_schema_names_the_newest_migration():
    config = Config()
    config.set_main_option("script_location", "tasks.ledger:migrations")
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_heads() == [REVISION]


async def test_a_ledger_of_the_first_release_is_brought_up_to_date(ledger_address: str):
    url = make_url(ledger_address)
    url = url if url.drivername == "sqlite" else url.set(drivername="postgresql+psycopg")
    config = Config()
    config.set_main_option("script_location", "tasks.ledger:migrations")
    config.set_main_option("path_separator", "os")
    engine = create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(
            text("INSERT INTO campaigns (name, reserved, charged, created_at) "
                 "VALUES ('spring', 0, 7000000, 1)")
        )  # fmt: skip
    engine.dispose()
    async with await open_ledger(ledger_address) as ledger:
        (campaign,) = await ledger.read(all_campaigns)
        assert await ledger.read(unsettled_calls) == []
    assert (campaign.name, campaign.charged) == ("spring", 7)
