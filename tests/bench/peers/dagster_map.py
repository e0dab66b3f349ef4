"""Dagster in one process: a dynamic output a row, mapped over four ops.

`python -m tests.bench.peers.dagster_map BASE_URL ROWS AT_ONCE FOLDER`; one process executes one op
at a time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import dagster as dg

from tests.bench.peers.work import Work

_, url, count, _, place = sys.argv
work = Work(url, place)
#: What it logs by default, several lines a step, costs it a good part of its time.
QUIET = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}


@dg.op(out=dg.DynamicOut(int))
def rows() -> Iterator[dg.DynamicOutput[int]]:
    for n in range(1, int(count) + 1):
        yield dg.DynamicOutput(n, mapping_key=f"row_{n}")


@dg.op
def quote(n: int) -> int:
    work.quote(n)
    return n


@dg.op
def create(n: int) -> tuple[int, str]:
    return n, work.create(n)


@dg.op
def poll(made: tuple[int, str]) -> tuple[int, str]:
    n, video = made
    return n, work.poll(video)


@dg.op
def deliver(ready: tuple[int, str]) -> int:
    return work.deliver(*ready)


@dg.job
def videos() -> None:
    rows().map(quote).map(create).map(poll).map(deliver)


if __name__ == "__main__":
    started = time.perf_counter()
    assert videos.execute_in_process(run_config=QUIET).success
    print(time.perf_counter() - started)
