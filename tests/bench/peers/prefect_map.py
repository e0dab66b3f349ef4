"""Plain Prefect: four tasks a row by `.map`, on a server of its own.

`python -m tests.bench.peers.prefect_map BASE_URL ROWS AT_ONCE FOLDER [THREADS]`; without a number
of threads Prefect's own default pool runs the tasks.
"""

from __future__ import annotations

import sys
import time

from prefect import flow, task
from prefect.futures import wait
from prefect.task_runners import ThreadPoolTaskRunner

from tests.bench.peers.work import Work

_, url, count, _, place, *threads = sys.argv
work = Work(url, place)
pool = ThreadPoolTaskRunner(max_workers=int(threads[0])) if threads else ThreadPoolTaskRunner()


@task
def quote(n: int) -> int:
    work.quote(n)
    return n


@task
def create(n: int) -> tuple[int, str]:
    return n, work.create(n)


@task
def poll(made: tuple[int, str]) -> tuple[int, str]:
    n, video = made
    return n, work.poll(video)


@task
def deliver(ready: tuple[int, str]) -> int:
    return work.deliver(*ready)


@flow(task_runner=pool)
def videos(rows: int) -> float:
    # Within the flow: the server is up.
    started = time.perf_counter()
    done = deliver.map(poll.map(create.map(quote.map(range(1, rows + 1)))))
    wait(done)
    assert all(future.state.is_completed() for future in done)
    return time.perf_counter() - started


if __name__ == "__main__":
    print(videos(int(count)))
