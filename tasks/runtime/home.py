"""Where Callsheet keeps its files: `.callsheet/` next to the sheets, and profiles in TOML.

Anyone who runs a sheet from another folder is led back to the ledger that has paid for it: each
user has a folder of notes, one for every sheet, that say which ledger that was.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import tomllib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from callsheet.tasks.runtime.errors import ConfigurationError
from callsheet.tasks.runtime.files import write_whole
from callsheet.tasks.runtime.suggest import suggest

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
        # Only its owner reads it: it says where the ledger is.
        note = json.dumps(asdict(last), ensure_ascii=False)
        write_whole(_note(notes, last.sheet), note.encode())


def make_home(home: Path) -> bool:
    """Make the folder, closed to others; return whether it was missing.

    Raises ConfigurationError when it cannot be made.
    """
    if home.is_dir():
        return False
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        (home / ".gitignore").write_text("*\n", "utf-8")
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
    if sheet is None:
        return None
    from callsheet.tasks.values.briefs import origin_of

    origin = origin_of(sheet)
    if origin is None:
        return None
    beside = None if "://" in origin.place else _nearest(Path(origin.place).parent)
    last = last_run(notes, origin.place)
    return beside or (Path(last.home) if last and Path(last.home).is_dir() else None)


def _note(notes: Path, sheet: str) -> Path:
    return notes / f"{hashlib.sha256(sheet.encode()).hexdigest()[:40]}.json"


# Profiles: settings in a TOML file, and secrets in files of their own.


#: Names the profile where no one says `--profile`.
PROFILE = "CALLSHEET_PROFILE"


def named_profile(environ: Mapping[str, str]) -> str | None:
    """Return the profile that the environment names, if it names one."""
    return environ.get(PROFILE, "").strip() or None


class Found(NamedTuple):
    """A setting as it is written, and where: what a person is told when it is wrong.

    `file` is the one that a secret was read from.
    """

    value: str
    where: str
    file: Path | None = None


def read_profile(
    profile: str, folder: Path, *, known: Collection[str], secrets: Collection[str], needed: bool
) -> dict[str, Found]:
    """Return the settings of a profile, looked for from `folder` upward; none if it is not needed.

    Raises ConfigurationError for one that is missing, cannot be read, or says what is not `known`.
    """
    try:
        path = find_profile(profile, folder)
    except ConfigurationError:
        if needed:
            raise
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"profile {path} cannot be read: {error}") from error
    found: dict[str, Found] = {}
    for name, value in table.items():
        where = f"profile {path}, line {_line_of(name, text)}: {name}"
        secret, file = name.removesuffix("_file"), None
        if name.endswith("_file") and secret in secrets:
            file = path.parent / str(value)
            value = read_secret(where, file)
            name = secret
        elif name not in known:
            raise ConfigurationError(
                f"profile {path}, line {_line_of(name, text)}: unknown setting {name}",
                remedy=f"the settings are: {', '.join(known)}; `callsheet help WORD` explains one",
            )
        elif isinstance(value, dict):
            # A table is the same as its text: marketing = 500 as marketing=500.
            value = ",".join(f"{key}={entry}" for key, entry in value.items())
        elif not isinstance(value, str | int):
            raise ConfigurationError(f"{where} is not a text or a whole number")
        found[name] = Found(str(value), where, file)
    return found


def _line_of(name: str, text: str) -> int:
    """Return the line on which a profile says a setting, or begins its table."""
    begins = re.compile(rf"\s*\[?\s*[\"']?{re.escape(name)}[\"']?\s*[\]=.]")
    return next((n for n, line in enumerate(text.splitlines(), 1) if begins.match(line)), 1)


def read_secret(name: str, path: Path) -> str:
    """Return the secret in a file; `name` says who names it, should it not be readable."""
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{name} names {path}, which cannot be read: {error}") from error
    if not secret:
        raise ConfigurationError(f"{name} names {path}, which is empty")
    return secret


def remark_on(found: Found) -> str | None:
    """Return what is to be said of a secret's file that everybody on this machine can read.

    What an orchestrator puts into a container is readable there, and no one else is.
    """
    if found.file is None or os.name == "nt":
        return None
    try:
        mode = stat.S_IMODE(found.file.stat().st_mode)
        real = found.file.resolve()
    except OSError:
        return None
    mounted = real.is_relative_to("/run/secrets") or any(p.startswith("..") for p in real.parts)
    if mounted or not mode & (stat.S_IROTH | stat.S_IWOTH):
        return None
    can = "change" if mode & stat.S_IWOTH else "read"
    return (
        f"{found.where} names {found.file}, which everybody on this machine can {can}: "
        f"chmod 600 {found.file}"
    )


def find_profile(profile: str, folder: Path) -> Path:
    """Return the file of a profile, looked for from `folder` upward.

    Raises ConfigurationError where there is none.
    """
    if profile.endswith(".toml"):
        return folder / profile
    for home in profile_folders(folder):
        if (home / f"{profile}.toml").is_file():
            return home / f"{profile}.toml"
    raise ConfigurationError(
        f'there is no profile "{profile}"; nothing was spent',
        remedy=f"write it: `{suggest('init', '--profile', profile)}`, or give its path: --profile "
        "PATH.toml",
    )


def profile_folders(folder: Path) -> list[Path]:
    """Return where profiles are looked for, the nearest first."""
    homes = [place / "configs" / "profiles" for place in (folder, *folder.parents)]
    return [*homes, Path.home() / ".config" / "callsheet"]
