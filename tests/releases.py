"""Releases that are to come: copies of what a wheel holds, with a migration more."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from callsheet.tasks.ledger.schema import REVISION
from tests.launcher import Launcher, Process, imports_of
from tests.programs import ROOT, Desk

_MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "{revision}", "{before}"
works_with = "{works_with}"


def upgrade():
{body}
"""

#: Its new table is one that its program knows.
_MOODS = """
moods = Table("moods", metadata, Column("id", Id, primary_key=True), Column("word", Text))
"""
_EXPAND = """
    op.add_column("rows", sa.Column("mood", sa.Text(), nullable=True))
    tries = sa.Column("tries", sa.Integer(), nullable=False, server_default="1")
    op.add_column("takes", tries)
    op.add_column("events", sa.Column("weight", sa.Float(), nullable=False, server_default="0.5"))
    where = sa.text("mood IS NOT NULL")
    op.create_index("ix_rows_mood", "rows", ["mood"], sqlite_where=where, postgresql_where=where)
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    key = sa.PrimaryKeyConstraint("id", name="pk_moods")
    op.create_table("moods", sa.Column("id", number), sa.Column("word", sa.Text()), key)
"""
_CONTRACT = """
    op.drop_index("ix_rows_mood", table_name="rows")
    op.drop_column("rows", "mood")
"""
#: Their schemas.
NEXT, LATER = "9001", "9002"


@dataclass
class Release:
    """A release in a folder of its own."""

    folder: Path

    @cached_property
    def launcher(self) -> Launcher:
        """Starts its programs."""
        return Launcher("release", self.folder)

    @cached_property
    def workers(self) -> Launcher:
        """Starts workers of it."""
        return Launcher("worker", self.folder)

    def at(self, desk: Desk) -> Desk:
        """The same folder and settings, for somebody who has this release."""
        return _DeskOf(folder=desk.folder, environ=desk.environ, release=self)


@dataclass(kw_only=True)
class _DeskOf(Desk):
    release: Release
    may_be_here: bool = False

    def start(self, *words: str, stdin: int = subprocess.DEVNULL, **_: Any) -> Process:
        given: dict[str, Any] = {"cwd": self.folder, "env": self.environment(), "stdin": stdin}
        given |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return self.release.launcher.start(words, **given)

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "PYTHONPATH": imports_of(self.release.folder)}


def make_next(folder: Path) -> Release:
    """The release after this one: its schema has more, and works with this one's programs."""
    for door in ("tasks", "flows", "deployments"):
        shutil.copytree(ROOT / door, folder / door, copy_function=_link)
    shutil.copytree(ROOT / "src", folder / "src", symlinks=True)
    for file in ("tests/launcher.py", "tests/mutants/lines.py", "tests/workers/one_worker.py"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        _link(str(ROOT / file), str(folder / file))
    newest = max((ROOT / "tasks/ledger/migrations/versions").glob("m*.py")).read_text()
    found = re.search(r'works_with = "(\d+)"', newest)
    assert found is not None
    # A release that shuts out those that this one works with waits for their runs.
    works_with = found[1]
    _change(
        folder, before=REVISION, revision=NEXT, works_with=works_with, body=_EXPAND, more=_MOODS
    )
    return Release(folder)


def make_later(folder: Path, next_one: Release) -> Release:
    """The release after that: it takes away what the one before it does not use."""
    shutil.copytree(next_one.folder, folder, symlinks=True, copy_function=_link)
    _change(folder, before=NEXT, revision=LATER, works_with=NEXT, body=_CONTRACT, more="")
    return Release(folder)


def _link(old: str, new: str) -> None:
    """Have a file in two places: what is written anew is removed first."""
    try:
        os.link(old, new)
    except OSError:
        # On another disk.
        shutil.copy2(old, new)


def _change(folder: Path, *, before: str, revision: str, more: str, **migration: str) -> None:
    ledger = folder / "tasks" / "ledger"
    schema = ledger / "schema.py"
    text = schema.read_text()
    schema.unlink()
    line = f'REVISION = "{before}"\n'
    assert line in text
    schema.write_text(text.replace(line, f'REVISION = "{revision}"\n') + more)
    made = _MIGRATION.format(revision=revision, before=before, **migration)
    (ledger / "migrations" / "versions" / f"m{revision}.py").write_text(made)
