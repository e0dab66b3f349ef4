"""The migrations make exactly the schema that the program works with."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.engine import make_url

from callsheet.tasks.ledger import schema_runs  # noqa: F401
from callsheet.tasks.ledger.campaigns import all_campaigns
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.maintenance import upgrade_ledger
from callsheet.tasks.ledger.schema import REVISION, VERSION_TABLE, metadata
from callsheet.tasks.ledger.service_state import unsettled_calls
from callsheet.tasks.ledger.values import takes_of


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
    async with await open_ledger(upgraded(ledger_address)) as ledger:
        found = {c.name: c.id for c in await ledger.read(all_campaigns)}
        (one,) = await ledger.read(partial(takes_of, campaign_id=found["autumn"]))
        assert one[1].key == "autumn"
        assert await ledger.read(partial(takes_of, campaign_id=found["spring"])) == []


async def test_a_ledger_of_the_first_release_is_brought_up_to_date(ledger_address: str):
    make_older(ledger_address, "0001", CAMPAIGN.format("spring", 7_000_000))
    async with await open_ledger(upgraded(ledger_address)) as ledger:
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
    async with await open_ledger(upgraded(ledger_address), create=False) as ledger:
        (campaign,) = await ledger.read(all_campaigns)
        names = await ledger.read(lambda connection: inspect(connection).get_table_names())
    assert (campaign.name, campaign.charged) == ("spring", 7)
    assert VERSION_TABLE in names
    assert "alembic_version" not in names


async def test_who_was_at_work_has_the_leases(ledger_address: str) -> None:
    now = time.time()
    make_older(
        ledger_address,
        "0017",
        *(CAMPAIGN.format(name, 0) for name in ("spring", "autumn")),
        f"UPDATE campaigns SET owner = 'a run', owner_since = 5, owner_until = {now + 600} "
        "WHERE name = 'spring'",
        # Two open nights of one inbox: the one that gave a sign of life last is swept.
        *(
            "INSERT INTO nights (inbox, date, zone, place, begun_at, renewed_at, ended_at) "
            f"VALUES ('in', '2026-11-{date}', 'UTC', 'sweep {date}', 7, {seen}, {ended})"
            for date, seen, ended in ((20, 8, "NULL"), (21, now, "NULL"), (22, now + 9, now))
        ),
        "INSERT INTO plans (id, kind, campaign, terms, state, made_by, made_at) "
        "VALUES ('p', 'run', 'spring', '{}', 'approved', 'Ann', 1)",
        "INSERT INTO runs (id, plan_id, campaign, started_by, asked_at, place) "
        "VALUES ('r', 'p', 'spring', 'Ann', 3, 'prefect:1')",
        "INSERT INTO productions (id, campaign_id, owner, crews, batch_size, organisation, store, "
        "terms, begun_at, hinted) SELECT 'x', id, 'a run', 1, 1, 'o', 's', '{}', 1, NULL IS NULL "
        "FROM campaigns WHERE name = 'spring'",
        *(
            "INSERT INTO batches (production_id, crew, holder, size, claimed_at, until, freed_at) "
            f"VALUES ('x', 1, '{holder}', 1, 4, {until}, {freed})"
            for holder, until, freed in (
                ("one", 9, "NULL"),
                ("one", now + 60, "NULL"),
                ("gone", 9, 9),
            )
        ),
    )
    upgrade_ledger(ledger_address, by="Ann", at=now, anyway=True)
    async with await open_ledger(ledger_address) as ledger:
        query = text("SELECT name, owner, since, until FROM leases ORDER BY name")
        found = await ledger.read(lambda connection: connection.execute(query).all())
        spring = next(c.id for c in await ledger.read(all_campaigns) if c.name == "spring")
    (run,) = [line for line in found if line.name == "run:r"]
    assert (run.owner, run.since) == ("prefect:1", 3)
    assert run.until == pytest.approx(now + 60, abs=60)
    assert [tuple(line) for line in found if line is not run] == [
        (f"campaign:{spring}", "a run", 5, pytest.approx(now + 600)),
        ("night:in", "sweep 21", 7, pytest.approx(now + 60)),
        ("worker:one", "one", 4, pytest.approx(now + 60)),
    ]
