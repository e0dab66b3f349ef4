"""The next release on this one's ledger: a person upgrades it while no run is at work."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from callsheet.tasks.ledger.schema import REVISION
from tests.programs import Desk, Finished
from tests.releases import NEXT, Release, make_next

pytestmark = pytest.mark.merge

LEASE = "INSERT INTO leases (name, owner, since, until, token) VALUES ('night:in', 'me', 1, {}, 1)"


@pytest.fixture(scope="module")
def next_one(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return make_next(tmp_path_factory.mktemp("next"))


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    """Somebody who has this release, and a ledger of it."""
    ledger = f"sqlite:///{tmp_path}/ledger.db"
    if request.param == "postgres":
        ledger = request.getfixturevalue("postgres").new_database()
    desk = Desk(tmp_path, {"CALLSHEET_LEDGER": ledger}, may_be_here=False)
    assert desk.call("ledger", "upgrade", "--make").status == 0
    return desk


def tell(desk: Desk, statement: str) -> list[Any]:
    """Have the ledger's database carry out a statement."""
    address = desk.environ["CALLSHEET_LEDGER"]
    if address.startswith("sqlite"):
        with closing(sqlite3.connect(address.removeprefix("sqlite:///"))) as database:
            found = database.execute(statement).fetchall()
            database.commit()
            return found
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(statement)  # type: ignore[call-overload]
        return list(cursor.fetchall()) if cursor.description else []


def schema_of(desk: Desk) -> str:
    ((number,),) = tell(desk, "SELECT version_num FROM callsheet_version")
    return str(number)


def is_refused(ended: Finished, words: str) -> None:
    assert (ended.status, words in " ".join(ended.err.split())) == (2, True), ended.err


@pytest.mark.safeguard("tasks/ledger/migrate.py", "check_schema(found)\n        return", "pass")
def test_no_command_but_upgrade_changes_the_schema(desk: Desk, next_one: Release) -> None:
    words = f"schema {REVISION}, older than this Callsheet's ({NEXT}); nothing was spent"
    for command in (("status",), ("ledger", "check"), ("ledger", "backup", "kept.db")):
        is_refused(next_one.at(desk).call(*command), words)
    refused = next_one.at(desk).call("status")
    assert "`callsheet ledger upgrade`" in " ".join(refused.err.split())
    assert schema_of(desk) == REVISION


@pytest.mark.safeguard("tasks/ledger/migrate.py", "_check_idle(connection)", "pass")
def test_an_upgrade_waits_for_whoever_is_at_work(desk: Desk, next_one: Release) -> None:
    tell(desk, LEASE.format(time.time() + 3600))

    is_refused(next_one.at(desk).call("ledger", "upgrade"), "is at work on this ledger")

    assert schema_of(desk) == REVISION
    assert not [*desk.folder.glob("*.schema-*")], "it is the ledger still"
    # Whoever is gone keeps nobody from it.
    tell(desk, "UPDATE leases SET until = 1")
    assert next_one.at(desk).call("ledger", "upgrade").status == 0
    assert schema_of(desk) == NEXT


@pytest.mark.safeguard(
    "tasks/ledger/maintenance.py", "kept = copy_aside(address, old, at=at)", "kept = None"
)
def test_an_upgrade_keeps_a_copy_and_shuts_this_release_out(desk: Desk, next_one: Release) -> None:
    assert desk.call("ledger", "backup", "kept.db").status == 0
    newer = next_one.at(desk)

    upgraded = newer.call("ledger", "upgrade", "--json").json

    assert (upgraded["old"], upgraded["new"], schema_of(desk)) == (REVISION, NEXT, NEXT)
    if desk.environ["CALLSHEET_LEDGER"].startswith("sqlite"):
        with closing(sqlite3.connect(upgraded["before"])) as before:
            (found,) = before.execute("SELECT version_num FROM callsheet_version").fetchall()
        assert found == (REVISION,)
    else:
        assert upgraded["before"] is None
    noted = tell(desk, "SELECT words FROM acts WHERE act = 'upgrade'")
    assert noted == [(f"schema {REVISION} became {NEXT}",)]
    again = newer.call("ledger", "upgrade", "--json").json
    assert (again["old"], again["new"], again["before"]) == (NEXT, NEXT, None)
    assert newer.call("status").status == 0
    words = f"schema {NEXT}, which is newer than this Callsheet knows ({REVISION}); nothing was"
    for command in (("status",), ("ledger", "backup", "b.db"), ("ledger", "upgrade")):
        is_refused(desk.call(*command), words)
    # A backup of this release becomes a ledger of the next one.
    assert newer.call("ledger", "restore", "kept.db", "--instead").status == 0
    assert schema_of(desk) == NEXT
    assert tell(desk, "SELECT count(mood) FROM rows") == [(0,)]
