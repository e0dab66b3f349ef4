"""Where everything that a run keeps is: `.callsheet/`, found as git finds its own."""

from __future__ import annotations

from pathlib import Path

from tasks.errors import ConfigurationError

HOME = ".callsheet"


def find_home(folder: Path) -> Path:
    """Return the nearest `.callsheet/` at or above `folder`, else where it would be made."""
    for place in (folder, *folder.parents):
        if (place / HOME).is_dir():
            return place / HOME
    return folder / HOME


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
