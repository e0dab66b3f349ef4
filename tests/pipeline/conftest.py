"""One sandbox for all tests of a worker; every test has a folder and campaigns of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import lay_ledger
from tests.fixtures import sandbox_fixture
from tests.prefect_servers import PrefectServer, started_server
from tests.programs import Desk, Sandbox

#: Names a server to be used instead of one of the tests' own, as of another version of Prefect.
GIVEN = "TESTED_PREFECT_SERVER"

service = sandbox_fixture("--credits", "100000000", scope="session")
#: A sandbox of the file's own.
own_sandbox = sandbox_fixture("--credits", "1000000", "--time-scale", "600")


@pytest.fixture
def studio(own_sandbox: Sandbox) -> Iterator[Sandbox]:
    """A sandbox where things go wrong, or whose list is read."""
    yield own_sandbox
    own_sandbox.clear_faults()


@pytest.fixture
def desk(
    request: pytest.FixtureRequest, tmp_path: Path, service: Sandbox, made_ledger: Path
) -> Desk:
    """A folder with the shared sandbox, or with the `studio` of a test that has one."""
    lay_ledger(tmp_path, made_ledger)
    if "studio" not in request.fixturenames:
        return Desk(tmp_path, dict(service.environ))
    environ = dict(request.getfixturevalue("studio").environ)
    # Instead of 10 min: how long it is searched for what a lost answer may have made.
    return Desk(tmp_path, {**environ, "CALLSHEET_EVIDENCE_WAIT": "3s"})


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, desk: Desk) -> Desk:
    """A desk whose ledger is on either database."""
    if request.param == "postgres":
        begin_on_postgres(desk, request)
    return desk


def begin_on_postgres(desk: Desk, request: pytest.FixtureRequest) -> None:
    """Have a desk begin an empty ledger on PostgreSQL."""
    desk.environ["CALLSHEET_LEDGER"] = request.getfixturevalue("postgres").new_database()
    assert desk.call("ledger", "upgrade", "--make").status == 0


@pytest.fixture
def name(tmp_path: Path) -> str:
    """A campaign name no other test has: keys of the same video would be the same."""
    return f"c-{abs(hash(str(tmp_path))):x}"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    """A Prefect server that runs before Callsheet does, as a team's own would."""
    if given := os.environ.get(GIVEN):
        yield PrefectServer(given)
        return
    running = started_server(tmp_path_factory.mktemp("prefect"))
    yield running
    running.stop()
