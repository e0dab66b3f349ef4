"""What `callsheet up` keeps up, as every other command may read it: `.callsheet/up/up.json`.

Whether somebody keeps it up is told by a lock, which the kernel takes back from whoever was killed:
what is written without the lock being held is of an `up` before. Imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from callsheet.deployments.process import try_lock
from callsheet.tasks.runtime.errors import CallsheetError, ConfigurationError

#: `waiting` is for a part that it needs, or for its next try.
PartState = Literal["waiting", "starting", "up", "done", "ended"]
#: How long the lock is tried for: somebody may be looking whether it is held, in seconds.
LOOKED_AT = 1.0


@dataclass(frozen=True, kw_only=True)
class KeptPart:
    """One part: since when (Unix seconds) it is in its state, how often it was started again."""

    state: PartState
    since: float
    log: str
    pid: int | None = None
    address: str | None = None
    restarts: int = 0


@dataclass(frozen=True, kw_only=True)
class WhatIsUp:
    """The parts that are kept up, by whom, and the settings of their sandbox if they have one."""

    pid: int
    #: What every process of it has in its environment.
    mark: str
    folder: str
    #: The work pool of its deployments and its worker.
    pool: str = ""
    ready: bool = False
    parts: Mapping[str, KeptPart] = field(default_factory=dict)
    sandbox: Mapping[str, str] | None = None

    def address(self, part: str) -> str | None:
        """Return where a part is, if there is such a part and it is up."""
        found = self.parts.get(part)
        return found.address if found is not None and found.state == "up" else None


class UpAlready(CallsheetError):
    """Somebody keeps all of it up for this folder."""


def folder_of(home: Path) -> Path:
    """Return where `up` keeps its logs and what else is its own."""
    return home / "up"


def what_is_up(home: Path) -> WhatIsUp | None:
    """Return what is kept up right now; None where nobody does."""
    return last_up(home) if _is_held(folder_of(home)) else None


def last_up(home: Path) -> WhatIsUp | None:
    """Return what was kept up last, by whoever it was."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        said = json.loads(_file(home).read_text("utf-8"))
        parts = {name: KeptPart(**part) for name, part in said.pop("parts").items()}
        return WhatIsUp(**said, parts=parts)
    return None


def prefect_kept(home: Path) -> str | None:
    """Return the API address of the Prefect server that is kept up, if one is."""
    found = what_is_up(home)
    address = found.address("prefect") if found is not None else None
    return address and f"{address}/api"


def sandbox_kept(home: Path) -> dict[str, str] | None:
    """Return the settings of the sandbox that is kept up, if one is."""
    found = what_is_up(home)
    return dict(found.sandbox) if found is not None and found.sandbox else None


def write_up(home: Path, now: WhatIsUp) -> None:
    """Write down what is up, for its owner's eyes: whole or not at all."""
    half = _file(home).with_suffix(".tmp")
    made = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(made, "w", encoding="utf-8") as out:
        json.dump(asdict(now), out)
    half.replace(_file(home))


@contextmanager
def holding(home: Path) -> Iterator[None]:
    """Be the one who keeps it up; raise UpAlready where somebody is.

    Raises ConfigurationError where the folder cannot be written to.
    """
    folder = folder_of(home)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ConfigurationError(f"cannot write to {folder}: {error.strerror}") from error
    try:
        until = time.monotonic() + LOOKED_AT
        while not try_lock(file):
            if time.monotonic() > until:
                raise UpAlready
            time.sleep(0.05)
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(file)


def holder(home: Path) -> int | None:
    """Return the process that keeps everything up for this folder; None where none does."""
    folder = folder_of(home)
    while _is_held(folder):
        # Whoever has only just taken it has not said so yet.
        with contextlib.suppress(OSError, ValueError):
            return int((folder / "lock").read_text())
    return None


def _is_held(folder: Path) -> bool:
    try:
        file = os.open(folder / "lock", os.O_RDWR)
    except OSError:
        return False
    try:
        return not try_lock(file)
    finally:
        os.close(file)


def _file(home: Path) -> Path:
    return folder_of(home) / "up.json"
