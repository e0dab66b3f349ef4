"""`make bench`: one table of what was asked for, what was found here, and beside what.

Programs that are compared run in turn, several times over, in the same go: the ratios are what
counts. What cannot be measured on this machine is said in the table.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.big_videos import measure_big_videos
from tests.bench.figures import Figure, missing
from tests.bench.hints import Renders, measure_hints
from tests.bench.pairs import measure_pairs
from tests.bench.programs import machine, prefect_server, stub
from tests.bench.scale import LARGE, measure_scale
from tests.bench.shares import measure_shares
from tests.bench.singles import (
    LARGE_LEDGER,
    LARGE_PLAN,
    ledger_figures,
    plan_figures,
    start_figures,
    up_figures,
)
from tests.bench.table import heading, text_tables
from tests.bench.video import make_video
from tests.bench.workers import measure_workers

SCRIPTS = ("careful", "httpx", "aiohttp")
ENGINES = ("dbos", "dagster", "prefect", "prefect50")


@dataclass(frozen=True)
class Sizes:
    """How much of everything: all of it takes half an hour, the quick one less than two minutes."""

    rows: int = 1000
    turns: int = 5
    engine_rows: int = 500
    engine_turns: int = 3
    large: int = LARGE
    hinted: int = 1000
    starts: int = 3
    ledger: int = LARGE_LEDGER
    planned: int = LARGE_PLAN
    videos: int = 80
    video_mb: int = 20
    worker_rows: int = 600
    worker_turns: int = 3
    renders: Renders = field(default_factory=Renders)


QUICK = Sizes(
    rows=200,
    turns=2,
    engine_rows=100,
    engine_turns=1,
    large=2000,
    hinted=60,
    starts=1,
    ledger=50_000,
    planned=1000,
    videos=10,
    worker_rows=150,
    worker_turns=1,
    renders=Renders(4.0, 6.0),
)


@dataclass(frozen=True)
class Bench:
    """Where the parts measure: a stub's address, a folder of their own, and the sizes."""

    address: str
    folder: Path
    sizes: Sizes

    def pairs(self, names: tuple[str, ...]) -> list[Figure]:
        """Measure some programs beside Callsheet, scripts and engines each in one go."""
        found = []
        sizes = self.sizes
        for kind, rows, turns in (
            (SCRIPTS, sizes.rows, sizes.turns),
            (ENGINES, sizes.engine_rows, sizes.engine_turns),
        ):
            if wanted := [name for name in names if name in kind]:
                place = self.folder / kind[0]
                with ExitStack() as stack:
                    if {"prefect", "prefect50"} & {*wanted}:
                        stack.enter_context(prefect_server(place / "prefect"))
                    found += measure_pairs(self.address, place, wanted, rows=rows, turns=turns)
        return found

    def loop(self) -> list[Figure]:
        """Measure the event loop's thread, and where the rest goes."""
        return measure_shares(self.address, self.sizes.rows, self.folder / "loop")

    def scale(self) -> list[Figure]:
        """Measure one large campaign."""
        return measure_scale(self.address, self.folder / "scale", self.sizes.large)

    def hints(self) -> list[Figure]:
        """Measure how late finished videos are noticed."""
        return measure_hints(self.folder / "hints", self.sizes.hinted, self.sizes.renders)

    def start(self) -> list[Figure]:
        """Measure how long it is to the first paid request."""
        return start_figures(self.folder / "start", self.sizes.starts)

    def up(self) -> list[Figure]:
        """Measure how long it takes until all that `up` keeps is ready."""
        return up_figures(self.folder / "up", self.sizes.starts)

    def plan(self) -> list[Figure]:
        """Measure a plan at a service whose answers take a while."""
        return plan_figures(self.folder / "plan", self.sizes.planned)

    def videos(self) -> list[Figure]:
        """Measure videos of real size on their way to an S3 server."""
        return measure_big_videos(self.folder / "videos", self.sizes.videos, self.sizes.video_mb)

    def workers(self) -> list[Figure]:
        """Measure several workers of one campaign against one."""
        sizes, place = self.sizes, self.folder / "workers"
        return measure_workers(
            self.folder / "video.mp4", place, sizes.worker_rows, sizes.worker_turns
        )

    def ledger(self) -> list[Figure]:
        """Measure commands on a large ledger."""
        return ledger_figures(self.folder / "ledger", self.sizes.ledger)


PARTS: dict[str, Callable[[Bench], list[Figure]]] = {
    "loop": Bench.loop,
    "scale": Bench.scale,
    "start": Bench.start,
    "up": Bench.up,
    "plan": Bench.plan,
    "videos": Bench.videos,
    "workers": Bench.workers,
    "ledger": Bench.ledger,
    "hints": Bench.hints,
}


def main() -> int:
    """Measure and print; return 1 where a part broke, whatever the others found."""
    args = _arguments()
    wanted = args.only or [*SCRIPTS, *ENGINES, *PARTS]
    told = {"machine": machine(), "day": time.strftime("%Y-%m-%d"), "load": os.getloadavg()[0]}
    told["kind"] = "quick" if args.quick else "whole"
    # Here and not in /tmp, which may be memory: what is synced is to reach a disk. Removed at
    # the very end, because ext4 is slow to make files for minutes after many were deleted.
    folder = Path(tempfile.mkdtemp(prefix=".bench-", dir=Path.cwd()))
    try:
        with stub(make_video(folder / "video.mp4")) as address:
            sizes = QUICK if args.quick else Sizes(large=args.large)
            bench = Bench(address, folder, sizes)
            figures, broken = _measure(bench, wanted)
    finally:
        # What shows the last run in Prefect may be writing its log yet.
        shutil.rmtree(folder, ignore_errors=True)
    told["figures"] = [figure.told() for figure in figures]
    if args.json:
        args.json.write_text(json.dumps(told, indent=1) + "\n")
    print("\n" + heading(told) + "\n\n" + text_tables(figures), flush=True)
    return int(broken)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="everything smaller")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found there, too")
    parser.add_argument("--large", type=int, default=LARGE, help="rows of the large campaign")
    names = (*SCRIPTS, *ENGINES, *PARTS)
    parser.add_argument("--only", nargs="+", choices=names, metavar="PART", help=", ".join(names))
    return parser.parse_args()


def _measure(bench: Bench, wanted: list[str]) -> tuple[list[Figure], bool]:
    """Return what the wanted parts found, and whether one broke."""
    compared = tuple(name for name in wanted if name in SCRIPTS + ENGINES)
    parts: dict[str, Callable[[], list[Figure]]] = {}
    if compared:
        parts["pairs"] = lambda: bench.pairs(compared)
    parts |= {name: lambda name=name: PARTS[name](bench) for name in wanted if name in PARTS}
    found: list[Figure] = []
    broken = False
    for name, measure in parts.items():
        started, before = time.perf_counter(), _processor()
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            found += measure()
        except Exception as why:
            traceback.print_exc()
            found.append(missing(name, name, f"it broke: {type(why).__name__}"))
            broken = True
        took, busy = time.perf_counter() - started, _processor() - before
        print(f"{name}: {took:.0f} s, {busy:.0f} s of processor", file=sys.stderr, flush=True)
    return found, broken


def _processor() -> float:
    """Return the processor seconds of this process and of all that ended under it."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    sys.exit(main())
