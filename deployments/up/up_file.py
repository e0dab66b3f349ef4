"""The status file of `callsheet up` for other commands: `.callsheet/up/up.json`.

A lock tells whether `up` is running; the kernel releases it when the process dies. Without the lock
the file is from an earlier `up`. Imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from callsheet.tasks.runtime.errors import CallsheetError, ConfigurationError
from callsheet.tasks.runtime.files import lock

#: `waiting` is for another part, or for the next restart.
PartState = Literal["waiting", "starting", "up", "done", "ended"]
#: How long to try for the lock, in seconds: another command may be testing it.
LOOKED_AT = 1.0


@dataclass(frozen=True, kw_only=True)
class KeptPart:
    """One part: its state and since when (Unix seconds), and its number of restarts."""

    state: PartState
    since: float
    log: str
    pid: int | None = None
    address: str | None = None
    restarts: int = 0


@dataclass(frozen=True, kw_only=True)
class WhatIsUp:
    """The running parts, the process that supervises them, and the settings of their sandbox."""

    pid: int
    #: The environment tag of all its processes.
    mark: str
    folder: str
    #: The work pool of its deployments and its Prefect worker.
    pool: str = ""
    ready: bool = False
    parts: Mapping[str, KeptPart] = field(default_factory=dict)
    sandbox: Mapping[str, str] | None = None

    def address(self, part: str) -> str | None:
        """Return the address of a part if it is up."""
        found = self.parts.get(part)
        return found.address if found is not None and found.state == "up" else None


class UpAlready(CallsheetError):
    """`callsheet up` is already running for this folder."""


def folder_of(home: Path) -> Path:
    """Return the folder with the logs and files of `up`."""
    return home / "up"


def what_is_up(home: Path) -> WhatIsUp | None:
    """Return the running parts; None if `up` is not running."""
    return last_up(home) if _is_held(folder_of(home)) else None


def last_up(home: Path) -> WhatIsUp | None:
    """Return the parts of the last `up`."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        said = json.loads(_file(home).read_text("utf-8"))
        parts = {name: KeptPart(**part) for name, part in said.pop("parts").items()}
        return WhatIsUp(**said, parts=parts)
    return None


def prefect_kept(home: Path) -> str | None:
    """Return the API address of the running Prefect server, if any."""
    found = what_is_up(home)
    address = found.address("prefect") if found is not None else None
    return address and f"{address}/api"


def sandbox_kept(home: Path) -> dict[str, str] | None:
    """Return the settings of the running sandbox, if any."""
    found = what_is_up(home)
    return dict(found.sandbox) if found is not None and found.sandbox else None


def write_up(home: Path, now: WhatIsUp) -> None:
    """Write the status file atomically, readable only by its owner."""
    half = _file(home).with_suffix(".tmp")
    made = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(made, "w", encoding="utf-8") as out:
        json.dump(asdict(now), out)
    half.replace(_file(home))


@contextmanager
def holding(home: Path) -> Iterator[None]:
    """Hold the lock of `up`; raise UpAlready if it is already running.

    Raise ConfigurationError if the folder cannot be written to.
    """
    if sys.platform == "win32":
        raise NotImplementedError
    folder = folder_of(home)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ConfigurationError(f"cannot write to {folder}: {error.strerror}") from error
    try:
        until = time.monotonic() + LOOKED_AT
        while not lock(file):
            if time.monotonic() > until:
                raise UpAlready
            time.sleep(0.05)
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(file)


def holder(home: Path) -> int | None:
    """Return the process id of `up` for this folder; None if it is not running."""
    folder = folder_of(home)
    while _is_held(folder):
        # A process that has just locked it has not written its id yet.
        with contextlib.suppress(OSError, ValueError):
            return int((folder / "lock").read_text("utf-8"))
    return None


def _is_held(folder: Path) -> bool:
    try:
        file = os.open(folder / "lock", os.O_RDWR)
    except OSError:
        return False
    try:
        return not lock(file)
    finally:
        os.close(file)


def _file(home: Path) -> Path:
    return folder_of(home) / "up.json"
