"""The migrations make exactly the schema that the program works with."""

from __future__ import annotations

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.schema import FIRST, REVISION, VERSION_TABLE, metadata
from tests.databases import PostgresServer
from tests.unit.ledger.test_backup import connected


async def test_migrations_produce_the_schema(ledger_address: str):
    def differences(connection):
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": True,
                "compare_server_default": True,
                "version_table": VERSION_TABLE,
            },
        )
        return compare_metadata(context, metadata)

    async with await open_ledger(ledger_address) as ledger:
        assert await ledger.read(differences) == []


def test_the_schema_names_the_first_migration_and_the_newest():
    config = Config()
    config.set_main_option("script_location", "callsheet.tasks.ledger:migrations")
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    assert (scripts.get_bases(), scripts.get_heads()) == ([FIRST], [REVISION])


def conditions(connection: Connection) -> set[str]:
    """Return the names of the indexes that have some lines of their table alone."""
    lists = {"sqlite": "sqlite_master WHERE sql", "postgresql": "pg_indexes WHERE indexdef"}
    name = {"sqlite": "name", "postgresql": "indexname"}[connection.dialect.name]
    query = f"SELECT {name} FROM {lists[connection.dialect.name]} LIKE '%INDEX%WHERE%'"
    return {*connection.execute(text(query)).scalars()}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_an_index_has_the_same_condition_on_both(
    kind: str, tmp_path, postgres: PostgresServer
) -> None:
    address = f"sqlite:///{tmp_path / 'l.db'}" if kind == "sqlite" else postgres.new_database()
    await (await open_ledger(address)).aclose()
    with connected(address) as connection:
        found = conditions(connection)
    named = {
        index.name
        for table in metadata.tables.values()
        for index in table.indexes
        if index.dialect_options["sqlite"]["where"] is not None
    }
    assert "ix_calls_open" in named
    assert found == named
