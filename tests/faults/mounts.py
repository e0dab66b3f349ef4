"""Disks that are small or cannot be written to: real file systems, mounted for a test.

Only root may mount; elsewhere such tests are skipped, and say so.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Callable[[str], None]]:
    """Make `folder` a disk of that size, as `48k`; yield what gives it another one."""
    folder.mkdir(parents=True, exist_ok=True)
    _mount("-t", "tmpfs", "-o", f"size={size}", "none", str(folder))
    try:
        yield lambda other: _mount("-o", f"remount,size={other}", str(folder))
    finally:
        _unmount(folder)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nobody write to what is in `folder`."""
    _mount("--bind", str(folder), str(folder))
    try:
        _mount("-o", "remount,ro,bind", str(folder))
        yield
    finally:
        _unmount(folder)


def _mount(*words: str) -> None:
    try:
        done = subprocess.run(["mount", *words], capture_output=True, check=False)
    except OSError:
        pytest.skip("no mount command here")
    if done.returncode:
        pytest.skip("file systems cannot be mounted here")


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", str(folder)], check=True)
