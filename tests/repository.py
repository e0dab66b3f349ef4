"""The files of this repository, for tests that look through them: a folder that moved fails."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: Where the program is.
PROGRAM = ("tasks", "flows", "deployments")


def files_in(*folders: str, of: str = "**/*.py") -> list[Path]:
    """Return the files of some folders, sorted; fail for a folder that has none."""
    found = [sorted(filter(Path.is_file, (ROOT / folder).glob(of))) for folder in folders]
    empty = [folder for folder, files in zip(folders, found, strict=True) if not files]
    assert not empty, f"there is no {of} in {empty}: have they moved?"
    return [file for files in found for file in files]


def tracked(*paths: str) -> list[str]:
    """Return the files of some paths (none: all of them) that git knows; fail for an empty one."""
    found = _git("ls-files", "--", *paths)
    empty = [path for path in paths if not any(_is_in(file, path) for file in found)]
    assert found, "git knows no files here"
    assert not empty, f"git knows no files in {empty}: have they moved?"
    return found


def grep(*words: str, paths: tuple[str, ...] = ()) -> list[str]:
    """Return the lines of `git grep` over paths that have files."""
    tracked(*paths)
    return _git("grep", *words, "--", *paths)


def _is_in(file: str, path: str) -> bool:
    return file == path or file.startswith(f"{path}/")


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    # 1: nothing was found.
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.splitlines()
