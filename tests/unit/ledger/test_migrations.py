"""The migrations make exactly the schema that the program works with."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from tasks.ledger import Ledger, open_ledger
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


async def test_foreign_keys_hold(ledger: Ledger):
    from tasks.ledger.schema import rows

    ask = lambda c: c.dialect.name  # noqa: E731
    assert await ledger.read(ask) in ("sqlite", "postgresql")
    assert {key.column.table.name for key in rows.foreign_keys} == {"campaigns"}
