"""Where everything that a run keeps is: `.callsheet/`, found as git finds its own.

Whoever runs a sheet from another folder is led back to the ledger that has paid for it: each user
has a folder of notes, one for every sheet, that say which ledger that was.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from callsheet.tasks.errors import ConfigurationError
from callsheet.tasks.origin import origin_of

HOME = ".callsheet"


@dataclass(frozen=True, kw_only=True)
class LastRun:
    """With which ledger (an address, no password) a sheet was last run, and its `.callsheet/`."""

    sheet: str
    ledger: str
    home: str


def find_home(folder: Path, sheet: str | None = None, notes: Path | None = None) -> Path:
    """Return the nearest `.callsheet/` at or above `folder`, else where it would be made.

    With a sheet it is, before it is made, the one at or above that, or the one of its last run.
    """
    found = _nearest(folder) or _home_of(sheet, notes)
    return found or folder / HOME


def is_here(home: Path, folder: Path) -> bool:
    """Return whether a home is one that `folder` alone would lead to."""
    return home.parent in (folder, *folder.parents)


def last_run(notes: Path | None, sheet: str) -> LastRun | None:
    """Return with what a sheet was last run: by its whole path, or its address."""
    if notes is None:
        return None
    # A note that is gone or damaged is none: it only ever saves a question.
    with suppress(OSError, ValueError, TypeError):
        return LastRun(**json.loads(_note(notes, sheet).read_text("utf-8")))
    return None


def notes_of(notes: Path | None) -> list[LastRun]:
    """Return every run that is noted, the latest first."""
    found: list[tuple[float, LastRun]] = []
    for file in notes.glob("*.json") if notes is not None else ():
        # Damaged, or gone by now.
        with suppress(OSError, ValueError, TypeError):
            run = LastRun(**json.loads(file.read_text("utf-8")))
            found.append((file.stat().st_mtime, run))
    return [run for _, run in sorted(found, key=lambda one: one[0], reverse=True)]


def note_run(notes: Path | None, last: LastRun) -> None:
    """Note with what a sheet was run, where there is a folder that can be written to."""
    if notes is None or last_run(notes, last.sheet) == last:
        return
    with suppress(OSError):
        notes.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = _note(notes, last.sheet)
        half = file.with_suffix(".tmp")
        # Only its owner reads it: it says where the ledger is.
        half.unlink(missing_ok=True)
        made = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(made, "w", encoding="utf-8") as note:
            note.write(json.dumps(asdict(last), ensure_ascii=False))
        half.replace(file)


def make_home(home: Path) -> bool:
    """Make the folder, closed to others; return whether it was missing.

    Raises ConfigurationError when it cannot be made.
    """
    if home.is_dir():
        return False
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        (home / ".gitignore").write_text("*\n")
    except OSError as error:
        raise ConfigurationError(
            f"cannot make {home}: {error.strerror}; nothing was spent",
            remedy="run in a folder you may write to",
        ) from error
    return True


def _nearest(folder: Path) -> Path | None:
    places = (place / HOME for place in (folder, *folder.parents))
    return next((home for home in places if home.is_dir()), None)


def _home_of(sheet: str | None, notes: Path | None) -> Path | None:
    origin = origin_of(sheet)
    if origin is None:
        return None
    beside = None if "://" in origin.place else _nearest(Path(origin.place).parent)
    last = last_run(notes, origin.place)
    return beside or (Path(last.home) if last and Path(last.home).is_dir() else None)


def _note(notes: Path, sheet: str) -> Path:
    return notes / f"{hashlib.sha256(sheet.encode()).hexdigest()[:40]}.json"
