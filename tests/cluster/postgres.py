"""The PostgreSQL of a cluster: one of the machine's, since Prefect's tables want its extensions.

`python -m tests.cluster.postgres` finds one, or installs it, and says which.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.browser import from_apt

#: Where distributions keep what is not on the path.
PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
#: What Prefect's tables want of it, which is in a package of its own on some systems.
EXTENSION = "extension/pg_trgm.control"
#: How long it may take to stop or start, in seconds.
WITHIN = 60


@dataclass
class Postgres:
    """A server of our own, its data in a folder, with its defaults: commits are on the disk."""

    folder: Path
    binaries: Path

    def address(self, database: str = "postgres") -> str:
        """Return the address of a database, by way of a socket in the folder."""
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def new_database(self, name: str) -> str:
        """Make an empty database and return its address."""
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload]
        return self.address(name)

    def make(self) -> None:
        """Make its folder, then start it."""
        words = ["--auth=trust", "--encoding=UTF8", "--username=postgres", "--no-sync"]
        self._call("initdb", *words, "-D", str(self.folder / "data"))
        self.start()

    def start(self) -> None:
        """Start it; it answers when this returns."""
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder}"
        log = str(self.folder / "log")
        self._call("pg_ctl", *self._about("start"), "-l", log, "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """Stop it as an administrator does, whoever is in it."""
        self._call("pg_ctl", *self._about("stop"), "-m", mode)

    def _about(self, verb: str) -> list[str]:
        return [verb, "-w", "-t", str(WITHIN), "-D", str(self.folder / "data")]

    def _call(self, program: str, *words: str) -> None:
        with (self.folder / "calls.log").open("ab") as log:
            subprocess.run(
                [str(self.binaries / program), *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                check=True,
                **as_nobody(),
            )


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Run a server for as long as this lasts."""
    binaries = find_postgres()
    assert binaries is not None, "there is no PostgreSQL: python -m tests.cluster.postgres"
    # A short name: the path of a socket has about a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="callsheet-pg-", dir="/tmp"))
    try:
        if user := as_nobody().get("user"):
            shutil.chown(folder, user)
        server = Postgres(folder, binaries)
        server.make()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def find_postgres() -> Path | None:
    """Return where the programs of a PostgreSQL are that has what Prefect wants."""
    named = shutil.which("pg_config")
    found = [Path(named).resolve().parent] if named else []
    for place in PLACES:
        root = Path(place.partition("*")[0]).parent
        pattern = str(Path(place).relative_to(root))
        found += sorted(root.glob(pattern), key=_version, reverse=True)
    return next(filter(_is_whole, found), None)


def main() -> int:
    """Make sure that there is one: what is there, else apt's."""
    for get in (lambda: True, lambda: from_apt("postgresql")):
        if get() and (which := find_postgres()):
            print(f"clusters are tested on the PostgreSQL in {which}")
            return 0
    print(
        "there is no PostgreSQL with its extensions for `make test-cluster`: install Debian's "
        "postgresql, or postgresql and postgresql-contrib",
        file=sys.stderr,
    )
    return 1


def as_nobody() -> dict[str, Any]:
    """Return whose process PostgreSQL is: it refuses to be root's."""
    if os.geteuid() != 0:
        return {}
    return {"user": "postgres", "group": "postgres", "extra_groups": []}


def _version(place: Path) -> int:
    return int("".join(filter(str.isdigit, place.parent.name)) or 0)


def _is_whole(binaries: Path) -> bool:
    try:
        asked = [str(binaries / "pg_config"), "--sharedir"]
        shared = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        # Debian has pg_config in a package of its own, and its files at a place of their own.
        shared = f"/usr/share/postgresql/{_version(binaries)}"
    return (binaries / "initdb").exists() and (Path(shared) / EXTENSION).exists()


if __name__ == "__main__":
    sys.exit(main())
