"""A real video, a spool, a server to download from, and a Fetcher that does not wait."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from callsheet.tasks.store import Fetcher
from tests.unit.store.video_server import VideoServer


@pytest.fixture(scope="session")
def video_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of 320x180 with a tone, index at the front as a service would send it."""
    import imageio_ffmpeg

    path = tmp_path_factory.mktemp("video") / "video.mp4"
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y"]
    command += ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25:duration=2"]
    command += ["-f", "lavfi", "-i", "sine=frequency=440:duration=2", "-shortest"]
    command += ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-b:v", "3M", "-c:a", "aac"]
    command += ["-movflags", "+faststart", str(path)]
    subprocess.run(command, check=True, timeout=60)
    return path


@pytest.fixture(scope="session")
def video(video_path: Path) -> bytes:
    return video_path.read_bytes()


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
async def server(video: bytes) -> AsyncIterator[VideoServer]:
    async with VideoServer(video) as server:
        yield server


@pytest.fixture
def pauses() -> list[float]:
    """The seconds that were waited between attempts (nobody waited them)."""
    return []


@pytest.fixture
async def fetcher(spool: Path, pauses: list[float]) -> AsyncIterator[Fetcher]:
    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async with Fetcher(
        spool=spool, allow_http=True, stall_seconds=1.0, sleep=sleep, random=lambda: 1.0
    ) as fetcher:
        yield fetcher
