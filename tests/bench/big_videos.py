"""Videos of real size from signed addresses to an S3 server, beside what people would type instead.

In one go, eight videos at once: `callsheet run`, `curl | rclone rcat` and `rclone copyurl`, to the
same `rclone serve s3`. Callsheet looks at every video, proves what is in the store and keeps books;
the other two move bytes.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.figures import Figure, beside
from tests.bench.programs import desk_at, inside_of, run_sheet, stub
from tests.bench.video import make_big_video
from tests.stores import S3Server, rclone_binary, rclone_s3

PART = "videos of real size"
AT_ONCE = 8
#: How many videos differ: to make one takes as long as to deliver dozens.
DIFFERENT = 2
#: Where there is no curl, a program that does what `curl URL` does.
FETCH = (
    "import shutil, sys, urllib.request as web; "
    "shutil.copyfileobj(web.urlopen(sys.argv[1]), sys.stdout.buffer)"
)


@dataclass(frozen=True, kw_only=True)
class Moved:
    """How one program did: `seconds` of the wall clock and `processor` seconds, of this machine.

    Of Callsheet `seconds` are from the first row approved to the last delivered, of the others
    all they took. `peak` is the most memory it held, in bytes; None for many processes.
    """

    megabytes: float
    seconds: float
    processor: float
    peak: int | None = None

    @property
    def rate(self) -> float:
        """Megabytes a second."""
        return self.megabytes / self.seconds


def measure_big_videos(folder: Path, videos: int = 80, size_mb: int = 20) -> list[Figure]:
    """Carry so many videos by each program, in one go; return what was found.

    `folder` is made if need be; it needs room for all videos at once.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = [make_big_video(folder / f"video-{n}.mp4", size_mb, seed=n) for n in range(DIFFERENT)]
    with rclone_s3(folder / "s3") as s3, stub(*made) as address:
        road = _Road(address, s3, folder)
        few, many = (road.callsheet(name, videos // n) for name, n in (("few", 5), ("all", 1)))
        peers = {
            road.rcat_name: (road.rcat(videos), 1.3),
            "rclone copyurl": (road.copyurl(videos), 0.9),
        }
    what = f"videos of {made[0].stat().st_size / 1e6:.0f} MB to rclone serve s3, {AT_ONCE} at once"
    rates = [
        _beside(f"{what}, against {name}", many, *peer, videos) for name, peer in peers.items()
    ]
    return [*rates, _memory(what, few, many, videos)]


def _beside(what: str, ours: Moved, peer: Moved, target: float, videos: int) -> Figure:
    note = f"processor seconds: {ours.processor:.1f} against {peer.processor:.1f}"
    return beside(
        PART, what, [ours.rate], [peer.rate], target=target, rows=videos, unit="MB/s", note=note
    )


def _memory(what: str, few: Moved, many: Moved, videos: int) -> Figure:
    assert few.peak is not None
    assert many.peak is not None
    return Figure(
        part=PART,
        what=f"{what}: peak memory at {videos} videos above that at {videos // 5}",
        unit="MB",
        ours=(many.peak - few.peak) / 1e6,
        better="less",
        judged="ours",
        rows=videos,
        note=f"{many.peak / 1e6:.0f} MB and {few.peak / 1e6:.0f} MB",
    )


@dataclass(frozen=True)
class _Road:
    """From the stub's videos to the bucket, which is a folder."""

    address: str
    s3: S3Server
    folder: Path

    def callsheet(self, name: str, videos: int) -> Moved:
        """Run a campaign of so many rows."""
        desk = desk_at(self.address, videos, self.folder / name)
        desk.environ |= self.s3.environment() | {"CALLSHEET_STORE": f"{self.s3.address}/here"}
        desk.environ["CALLSHEET_AT_ONCE"] = str(AT_ONCE)
        ended = run_sheet(desk)
        return Moved(
            megabytes=self._arrived(videos),
            seconds=inside_of(desk.folder / ".callsheet" / "ledger.db"),
            processor=ended.processor,
            peak=ended.peak,
        )

    @property
    def rcat_name(self) -> str:
        """What is typed where there is curl, and what stands in for it where there is none."""
        return f"{'curl' if shutil.which('curl') else 'a script'} | rclone rcat"

    def rcat(self, videos: int) -> Moved:
        """Type `curl ADDRESS | rclone rcat PLACE` for each video."""
        fetch = "curl -sf" if shutil.which("curl") else f"'{sys.executable}' -c '{FETCH}'"

        def type_it(n: int) -> None:
            typed = f"{fetch} '{self._video(n)}' | '{rclone_binary()}' rcat {self._bucket}/{n}.mp4"
            subprocess.run(["sh", "-c", typed], check=True, env=self._remote())

        with _measured() as took, ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(type_it, range(videos)))
        return Moved(megabytes=self._arrived(videos), **took)

    def copyurl(self, videos: int) -> Moved:
        """Have one rclone copy all addresses."""
        listed = self.folder / "addresses.csv"
        listed.write_text("".join(f"{self._video(n)},{n}.mp4\n" for n in range(videos)))
        words = ["copyurl", "--urls", str(listed), self._bucket, "--transfers", str(AT_ONCE)]
        with _measured() as took:
            subprocess.run([rclone_binary(), *words], check=True, env=self._remote())
        return Moved(megabytes=self._arrived(videos), **took)

    def _video(self, n: int) -> str:
        return f"{self.address}/videos/{n}.mp4?signature=0a1b2c3d"

    @property
    def _bucket(self) -> str:
        return f"peer:{self.s3.bucket}/here"

    def _remote(self) -> Mapping[str, str]:
        remote = {
            "TYPE": "s3",
            "PROVIDER": "Rclone",
            "ENDPOINT": self.s3.endpoint,
            "ACCESS_KEY_ID": self.s3.access_key,
            "SECRET_ACCESS_KEY": self.s3.secret_key,
        }
        named = {f"RCLONE_CONFIG_PEER_{name}": value for name, value in remote.items()}
        return {**os.environ, "RCLONE_CONFIG": os.devnull, "RCLONE_LOG_LEVEL": "ERROR", **named}

    def _arrived(self, videos: int) -> float:
        """Return the megabytes of video that are in the bucket, and empty it for the next."""
        bucket = self.folder / "s3" / self.s3.bucket / "here"
        sizes = [path.stat().st_size for path in bucket.rglob("*.mp4")]
        assert len(sizes) == videos, f"{len(sizes)} videos instead of {videos}"
        shutil.rmtree(bucket)
        return sum(sizes) / 1e6


@contextmanager
def _measured() -> Iterator[dict[str, float]]:
    """Yield what `Moved` wants to know; filled at the end."""
    took: dict[str, float] = {}
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    yield took
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took["seconds"] = time.perf_counter() - began
    took["processor"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=Path.cwd()) as name:
        print(*measure_big_videos(Path(name), *map(int, sys.argv[1:])), sep="\n")
