"""The release that is to come: a copy of what a wheel holds, with a migration more."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callsheet.tasks.ledger.schema import REVISION
from tests.launcher import Process, launcher
from tests.programs import ROOT, Desk

#: Its schema.
NEXT = "9001"
_MIGRATION = f"""
import sqlalchemy as sa
from alembic import op

revision, down_revision = "{NEXT}", "{REVISION}"


def upgrade():
    op.add_column("rows", sa.Column("mood", sa.Text()))
"""


@dataclass
class Release:
    """A release in a folder of its own."""

    folder: Path

    def at(self, desk: Desk) -> Desk:
        """The same folder and settings, for somebody who has this release."""
        return _DeskOf(folder=desk.folder, environ=desk.environ, release=self)


@dataclass(kw_only=True)
class _DeskOf(Desk):
    release: Release
    may_be_here: bool = False

    def start(self, *words: str, stdin: int = subprocess.DEVNULL, **_: Any) -> Process:
        # What the launcher imports of the tests' own is at the root.
        imports = os.pathsep.join((str(self.release.folder / "src"), str(ROOT)))
        given: dict[str, Any] = {"cwd": self.folder, "env": self.environment(), "stdin": stdin}
        given |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return launcher("callsheet", imports).start(words, **given)

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "PYTHONPATH": str(self.release.folder / "src")}


def make_next(folder: Path) -> Release:
    """The release after this one: its schema has more."""
    for door in ("tasks", "flows", "deployments"):
        shutil.copytree(ROOT / door, folder / door, copy_function=_link)
    shutil.copytree(ROOT / "src", folder / "src", symlinks=True)
    ledger = folder / "tasks" / "ledger"
    text = (ledger / "schema.py").read_text()
    line = f'\nREVISION = "{REVISION}"\n'
    assert line in text
    (ledger / "schema.py").unlink()
    (ledger / "schema.py").write_text(text.replace(line, f'\nREVISION = "{NEXT}"\n'))
    (ledger / "migrations" / "versions" / f"m{NEXT}.py").write_text(_MIGRATION)
    return Release(folder)


def _link(old: str, new: str) -> None:
    """Have a file in two places: what is written anew is removed first."""
    try:
        os.link(old, new)
    except OSError:
        # On another disk.
        shutil.copy2(old, new)
