"""Disks that are small or cannot be written to, mounted for a test, and S3 servers in trouble.

Only root may mount; elsewhere such tests are skipped, and say so. The proxy that makes the trouble
has a thread of its own: whoever waits for a command does not keep it from answering.
"""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.stores import S3Server
from tests.unit.store.s3_proxy import S3Proxy, Trouble, checking, s3_proxy


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


@contextmanager
def troubled(behind: S3Server, trouble: Trouble = checking) -> Iterator[S3Proxy]:
    """Run a proxy in front of `behind`, which checks digests unless it makes other trouble."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    proxy = s3_proxy(behind, trouble)
    try:
        yield asyncio.run_coroutine_threadsafe(proxy.__aenter__(), loop).result(30)
    finally:
        leaving = proxy.__aexit__(None, None, None)
        asyncio.run_coroutine_threadsafe(leaving, loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
