"""The programs that are measured: Callsheet, the scripts, and the same work in other engines.

Each is a process of its own, checked for having made the same calls and written the files.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.process import Ended, run
from tests.launcher import IMPORTS
from tests.programs import CALLSHEET, ROOT, Desk, simple_sheet
from tests.web import free_port

#: Creates, looks and deliveries that Callsheet has under way at once; the others carry as many
#: rows at once as these are together.
LANES = {"at_once": 12}
#: Creates, twice as many polls, and downloads.
AT_ONCE = 4 * LANES["at_once"]
#: Where the engines live that do not agree with what Callsheet pins.
ENGINES = ROOT / ".venv-peers" / "bin" / "python"


@dataclass(frozen=True)
class Peer:
    """Another program that does the same work.

    `quotes` says whether its own seconds include the quotes, as they do where quoting is one of
    the steps of a row; Callsheet's are then counted in the same way.
    """

    name: str
    what: str
    module: str
    target: float
    words: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    python: Path = Path(sys.executable)
    quotes: bool = False
    #: Files a row, and calls a row.
    files: int = 3
    calls: int = 7

    def unavailable(self) -> str | None:
        """Return why it cannot run on this machine, if it cannot."""
        there = self.python != ENGINES or (ENGINES.parent.parent / ".installed").exists()
        return None if there else "its packages are not here: make .venv-peers/.installed"


def _engine(name: str, what: str, module: str, **more: object) -> Peer:
    """Return a peer that is given four steps a row, without captions."""
    place = f"tests.bench.peers.{module}"
    return Peer(name, what, place, 8.0, quotes=True, files=1, calls=5, **more)  # type: ignore[arg-type]


PEERS = {
    peer.name: peer
    for peer in (
        Peer("careful", "the careful script", "tests.bench.peers.careful", 0.8),
        Peer("httpx", "bare script, httpx over aiohttp", "tests.bench.bare", 0.5, ("httpx",)),
        Peer("aiohttp", "bare script, raw aiohttp", "tests.bench.bare", 0.25, ("aiohttp",)),
        _engine("dbos", "DBOS, SQLite, a workflow a row", "dbos_workflow", python=ENGINES),
        _engine("dagster", "Dagster in process", "dagster_map", python=ENGINES),
        _engine("prefect", "plain Prefect .map, default pool", "prefect_map"),
        _engine("prefect50", "plain Prefect .map, 50 threads", "prefect_map", last=("50",)),
    )
}


@dataclass(frozen=True)
class Measured:
    """One run, in seconds, processor seconds and bytes.

    `inside` is from the first create to the last video, `quoted` with the quotes before it, both
    without the start of the process, which is in `whole`.
    """

    inside: float
    quoted: float
    whole: float
    processor: float
    peak: int
    calls: Mapping[str, int]


@contextmanager
def stub(*videos: Path, latency: float = 0.0) -> Iterator[str]:
    """Run the stub service, its answers `latency` seconds late; yield its root address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.stub", *map(str, videos)],
        cwd=ROOT,
        env={**os.environ, "STUB_LATENCY": str(latency)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def prefect_server(home: Path) -> Iterator[None]:
    """Run a Prefect server of its own, as its documentation has it, for plain Prefect's runs."""
    home.mkdir(parents=True)
    port = free_port()
    os.environ["PREFECT_HOME"] = str(home)
    os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{port}/api"
    words = ["server", "start", "--no-ui", "--host", "127.0.0.1", "--port", str(port)]
    with (home / "server.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "prefect", *words], stdout=log, stderr=subprocess.STDOUT
        )
    try:
        _wait_for(f"{os.environ['PREFECT_API_URL']}/health", within=180)
        yield
    finally:
        process.terminate()
        process.wait(30)
        del os.environ["PREFECT_HOME"], os.environ["PREFECT_API_URL"]


def _wait_for(address: str, *, within: float) -> None:
    until = time.monotonic() + within
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            assert time.monotonic() < until, f"nothing answers at {address}"
            time.sleep(0.2)


def peer(which: Peer, address: str, rows: int, folder: Path) -> Measured:
    """Measure another program in a folder of its own."""
    folder.mkdir(parents=True)
    _calls(address)
    given = [f"{address}/api/v1", str(rows), str(AT_ONCE), str(folder / "videos")]
    words = [str(which.python), "-m", which.module, *which.words, *given, *which.last]
    environ = {**os.environ, "PYTHONPATH": IMPORTS, "PREFECT_LOGGING_LEVEL": "WARNING"}
    ended = run(words, folder=folder, environ=environ)
    assert ended.status == 0, ended.err
    calls = _calls(address)
    _check(calls, rows, which.calls)
    _count_files(folder / "videos", which.files * rows)
    inside = float(ended.out.split()[-1])
    return Measured(inside, inside, ended.seconds, ended.processor, ended.peak, calls)


def callsheet(address: str, rows: int, folder: Path) -> Measured:
    """Measure `callsheet run --without-prefect` from an empty folder to the report."""
    _calls(address)
    desk = desk_at(address, rows, folder)
    ended = run_sheet(desk)
    told = json.loads(ended.out)
    assert told["rows"]["delivered"] == rows, ended.out
    calls = _calls(address)
    _check(calls, rows, 7)
    _count_files(folder / "deliveries", 3 * rows)
    ledger = folder / ".callsheet" / "ledger.db"
    inside, quoted = inside_of(ledger), inside_of(ledger, quotes=True)
    return Measured(inside, quoted, ended.seconds, ended.processor, ended.peak, calls)


def run_sheet(desk: Desk) -> Ended:
    """Run the sheet of the benchmark, approved, in a process of its own."""
    words = [*CALLSHEET, "run", "bench.csv", "--yes", "--json", "--without-prefect"]
    ended = run(words, folder=desk.folder, environ=desk.environment())
    assert ended.status == 0, ended.err
    return ended


def desk_at(address: str, rows: int, folder: Path) -> Desk:
    """Return a desk with the sheet on it and the settings of the benchmark."""
    # Made here, or a ledger of somebody at work in a folder above would be found and used.
    (folder / ".callsheet").mkdir(parents=True, exist_ok=True)
    settings = {f"CALLSHEET_{name.upper()}": str(count) for name, count in LANES.items()}
    environ = {
        "CALLSHEET_BASE_URL": f"{address}/api/v1",
        "CALLSHEET_API_KEY": "mav_bench",
        # No script makes posters; what videos are checked for is found all the same.
        "CALLSHEET_PICTURES": "no",
        **settings,
    }
    desk = Desk(folder, environ)
    desk.sheet("bench.csv", simple_sheet(rows))
    return desk


def creates(address: str) -> int:
    """Return how many creates the stub was asked for since it was last asked for its counts."""
    return _calls(address).get("create", 0)


def inside_of(ledger: Path, *, quotes: bool = False) -> float:
    """Return the seconds from the first row approved, or planned, to the last delivered."""
    first = "SELECT min(at) FROM events" + ("" if quotes else " WHERE new = 'approved'")
    last = "SELECT max(at) FROM events WHERE new = 'delivered'"
    with closing(sqlite3.connect(ledger)) as connection:
        begun, done = (connection.execute(moment).fetchone()[0] for moment in (first, last))
    return float(done - begun)


def _calls(address: str) -> dict[str, int]:
    """Return what the stub was asked since it was last asked this."""
    with urllib.request.urlopen(f"{address}/calls", timeout=10) as answer:
        return dict(json.load(answer))


def _check(calls: Mapping[str, int], rows: int, each: int) -> None:
    """Raise unless exactly the calls of so many rows were made, and so many videos paid for."""
    asked = dict(calls)
    charged = asked.pop("charged")
    wanted = dict.fromkeys(("estimate", "create", "get", "download", "video"), rows)
    if each == 7:
        wanted["captions"] = 2 * rows
    assert (asked, charged) == (wanted, rows), f"{calls} instead of {wanted}"


def _count_files(folder: Path, wanted: int) -> None:
    found = sum(1 for path in folder.rglob("*-take1.*") if path.stat().st_size)
    assert found == wanted, f"{found} files instead of {wanted} in {folder}"


def machine() -> str:
    """Say what this was measured on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = names[0] if names else "unknown processor"
    return f"{model}, {os.cpu_count()} cores, Python {sys.version.split()[0]}"
