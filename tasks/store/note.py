"""What is remembered beside a part, so that another process may go on with it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Source:
    """What is being downloaded: with the same strong `etag`, more of the same bytes."""

    etag: str | None = None
    total: int | None = None
    content_type: str | None = None


def write_note(path: Path, source: Source) -> None:
    """Remember `source`, if a later process could make use of it."""
    boot = _boot()
    # Without a strong ETag nothing ties later bytes to these, and after a power cut the
    # length of a file says nothing of its contents: such a part is begun again.
    if source.etag is None or boot is None:
        return
    fresh = path.with_suffix(".new")
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump({**asdict(source), "boot": boot}, file)
        os.replace(fresh, path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def read_note(path: Path) -> Source | None:
    """Return what was remembered; None when there is nothing that can be relied on."""
    try:
        note: dict[str, Any] = json.loads(path.read_text())
        boot = note.pop("boot")
        return Source(**note) if boot == _boot() else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


@cache
def _boot() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
