"""The benchmark's own parts: its table can be made, and its careful script does what it says."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.bench import simulate
from tests.bench.figures import SHARES, Figure, beside, missing
from tests.bench.marked_page import put_between
from tests.bench.process import run
from tests.bench.programs import PEERS, creates, peer, stub
from tests.bench.table import BEGIN, END, markdown_tables, page_of, text_tables
from tests.bench.video import make_video
from tests.programs import ROOT

pytestmark = pytest.mark.merge

PAGE = ROOT / "docs" / "benchmarks.md"
SAMPLE = [
    beside(
        "careful",
        "against it",
        [90.0, 50.0],
        [100.0, 100.0],
        target=0.8,
        rows=7,
        note="as loud as that",
    ),
    Figure(
        part="scale", what="memory", unit="MB", ours=250.4, target=300, judged="ours", better="less"
    ),
    Figure(part="hints", what="polls a row", unit="", ours=1.5, peer=3.0, ratio=0.5, better="less"),
    Figure(part=SHARES, what="event loop", unit="ms", ours=2.0, ratio=0.25),
    missing("dbos", "rows/s against DBOS", "its packages are not installed"),
]
LINES = (
    "| against it | 70.0 rows/s | 100 rows/s | 0.70 | 0.50 to 0.90 | at least 0.80 | NO | 7 x 2 |",
    "| memory | 250 MB | - | - | - | at most 300 MB | yes | - |",
    "| polls a row | 1.50 | 3.00 | 0.50 | - | - | - | - |",
    "| event loop | 2.00 ms | 25% |",
    "| rows/s against DBOS | - | - | - | - | - | not measured | - |",
)


def test_the_page_is_made_from_what_was_written_down(tmp_path: Path) -> None:
    told = {"machine": "a laptop", "day": "2026-01-02", "load": 0.5}
    file = tmp_path / "found.json"
    file.write_text(json.dumps({**told, "figures": [figure.told() for figure in SAMPLE]}))

    page = subprocess.run(
        [sys.executable, "-m", "tests.bench.table", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert page.startswith("a laptop; 2026-01-02; load before 0.5\n")
    assert all(line in page.splitlines() for line in LINES), page
    assert markdown_tables(SAMPLE) in page


def test_the_table_goes_between_the_marks_of_a_page(tmp_path: Path) -> None:
    told = {"machine": "a laptop", "day": "2026-01-02", "load": 0.5}
    found = {**told, "figures": [figure.told() for figure in SAMPLE]}
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")

    for _ in range(2):
        put_between(page, BEGIN, END, page_of(found, ["scale"], notes=False))

    told_now = page.read_text()
    assert told_now.startswith(f"before\n{BEGIN}\na laptop; ")
    assert told_now.endswith(f"{LINES[1]}\n{END}\nafter\n")
    assert "against" not in told_now


def test_a_terminal_shows_every_line_and_every_note() -> None:
    shown = text_tables(SAMPLE)

    assert [line for line in shown.splitlines() if line.startswith("memory")]
    assert "against it: as loud as that" in shown
    assert "rows/s against DBOS: not measured: its packages are not installed" in shown


@pytest.mark.parametrize(
    ("found", "better", "met"),
    [(0.8, "more", True), (0.79, "more", False), (0.8, "less", True), (None, "more", None)],
)
def test_a_target_is_met_or_not(found: float | None, better: str, met: bool | None) -> None:
    figure = Figure(part="p", what="w", unit="s", ratio=found, target=0.8, better=better)  # type: ignore[arg-type]

    assert figure.met is met


@pytest.mark.parametrize("name", ["careful", "httpx", "aiohttp"])
def test_a_script_makes_the_calls_and_writes_the_files(name: str, tmp_path: Path) -> None:
    with stub(make_video(tmp_path / "video.mp4")) as address:
        # It raises where calls, charges or files are not those of five rows.
        found = peer(PEERS[name], address, 5, tmp_path / name)

    assert found.inside < found.whole


def test_the_careful_script_proves_what_it_keeps_and_asks_for_nothing_twice(tmp_path: Path) -> None:
    video = make_video(tmp_path / "video.mp4")
    with stub(video) as address:
        words = [f"{address}/api/v1", "5", "3", str(tmp_path / "videos")]
        program = [sys.executable, "-m", "tests.bench.peers.careful", *words]
        ended = [run(program, folder=ROOT, environ=dict(os.environ), within=60) for _ in range(2)]
        created = creates(address)

    assert [one.status for one in ended] == [0, 0], ended[-1].err
    assert created == 5
    with closing(sqlite3.connect(tmp_path / "careful.db")) as ledger:
        rows = ledger.execute("SELECT n, state, sha256 FROM rows ORDER BY n").fetchall()
    digest = hashlib.sha256(video.read_bytes()).hexdigest()
    assert rows == [(n, "delivered", digest) for n in range(1, 6)]
    assert not [*(tmp_path / "videos").rglob("*.part")]


def test_the_page_has_what_the_simulation_finds() -> None:
    assert (
        f"{simulate.BEGIN}\n{simulate.table(simulate.Costs())}{simulate.END}\n" in PAGE.read_text()
    )


def test_workers_that_wait_for_one_line_are_no_quicker_for_being_more() -> None:
    costs = simulate.Costs(pace=simulate.UNLIMITED, sync=20)
    found = {n: simulate.Simulation(costs, workers=n, keys=1).run() for n in (1, 4, 16)}

    assert found[16].rate < 1.5 * found[4].rate
    assert found[16].limit == "the day's account"
    assert found[16].busy[found[16].limit] <= 1.0
