"""A disk without room: one sentence, and nothing left lying about."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from callsheet.tasks.runtime.errors import StoreError
from callsheet.tasks.store import Fetcher, open_store

LIMITED = """
import asyncio, resource, signal, sys
from pathlib import Path
from callsheet.tasks.runtime.errors import StoreError
from callsheet.tasks.store import open_store

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))
store = open_store(sys.argv[1])
try:
    asyncio.run(store.replace("video.mp4", bytes(20000), content_type="video/mp4"))
except StoreError as error:
    print(error)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except OSError:
        pytest.skip("no mount command here")
    if done.returncode:
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def test_a_video_that_will_not_fit_is_not_begun(fetcher, server, spool) -> None:
    async with Fetcher(spool=spool, allow_http=True, reserve=10**18) as fetcher:
        with pytest.raises(StoreError, match="the spool disk is full"):
            await fetcher.fetch("row-1", server.fresh_url)


async def test_a_spool_that_fills_up_gives_its_room_back(server, video, small_disk) -> None:
    server.data, server.etag = video * 8, None
    async with Fetcher(spool=small_disk / "spool", allow_http=True, reserve=-(10**9)) as fetcher:
        with pytest.raises(StoreError, match="the spool disk is full") as caught:
            await fetcher.fetch("row-1", server.fresh_url)
    assert not caught.value.permanent
    assert list((small_disk / "spool").iterdir()) == []


async def test_a_folder_that_fills_up(small_disk) -> None:
    store = open_store(str(small_disk))
    with pytest.raises(StoreError, match="the disk of the store is full"):
        await store.replace("video.mp4", bytes(2_000_000), content_type="video/mp4")
    assert list(small_disk.iterdir()) == []


def test_a_file_larger_than_this_process_may_write(tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path.cwd(),
    )
    assert "the disk of the store is full" in done.stdout
    assert list(tmp_path.iterdir()) == []
