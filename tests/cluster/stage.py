"""A campaign on a cluster, and what is seen of it from outside: the ledger's rows, the service's
charge log, Prefect's flow runs, what the command says."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from tests.cluster.findings import Findings
from tests.cluster.machines import Cluster
from tests.programs import CALLSHEET, simple_sheet

#: How long a scene may take that nothing holds up, in seconds.
WITHIN = 1500.0
#: How often it is looked where things are, in seconds.
LOOK = 0.25


class Stage:
    """A campaign on a cluster, and what is seen of it from outside."""

    def __init__(self, cluster: Cluster, findings: Findings, name: str, rows: int) -> None:
        self.cluster = cluster
        self.findings = findings
        self.name = name
        self.rows = rows
        cluster.desk.sheet(f"{name}.csv", simple_sheet(rows, title=name))
        self.charged_before = len(charges(cluster))

    def start_run(self, workers: int) -> subprocess.Popen[str]:
        """Type the command."""
        folder = self.cluster.folder
        words = ["run", f"{self.name}.csv", "--workers", str(workers), "--yes", "--json"]
        out, err = (folder / f"{self.name}.{kind}" for kind in ("out", "err"))
        with out.open("w") as said, err.open("w") as told:
            return subprocess.Popen(
                [*CALLSHEET, *words],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=told,
                text=True,
                cwd=self.cluster.desk.folder,
                env=self.cluster.environment(),
            )

    def said(self) -> tuple[dict[str, Any], str]:
        """Return the last document that the command printed, and what it said beside it."""
        folder: Path = self.cluster.folder
        out = (folder / f"{self.name}.out").read_text().splitlines()
        return json.loads(out[-1]) if out else {}, (folder / f"{self.name}.err").read_text()

    def states(self) -> Counter[str]:
        """Return how many of its rows are where; nothing without a ledger."""
        text = (
            "SELECT state, count(*) FROM rows JOIN campaigns ON campaigns.id = campaign_id"
            " WHERE campaigns.name = %s GROUP BY state"
        )
        # A database that is away, or has no ledger yet; a query that is wrong has to be seen.
        with suppress(psycopg.OperationalError, psycopg.errors.UndefinedTable):
            return Counter(dict(self.cluster.query(text, self.name)))
        return Counter()

    def until_delivered(self, part: float, run: Callable[[], bool]) -> None:
        """Wait until so much of it is delivered, while the run lasts."""
        wait_until(lambda: self.states()["delivered"] >= part * self.rows, while_=run)

    def workers(self) -> list[dict[str, Any]]:
        """Return the flow runs of its last production's workers."""
        found = self.cluster.query(
            "SELECT productions.id FROM productions JOIN campaigns ON campaigns.id = campaign_id"
            " WHERE campaigns.name = %s ORDER BY begun_at DESC",
            self.name,
        )
        last = found[0][0]
        runs = self.cluster.prefect.flow_runs("worker")
        return [run for run in runs if run["parameters"]["production"] == last]

    def held(self) -> int:
        """Return how many leases workers still have."""
        text = (
            "SELECT count(*) FROM leases"
            " JOIN productions ON leases.name LIKE 'worker:' || productions.id || ':%%'"
            " JOIN campaigns ON campaigns.id = campaign_id"
            " WHERE campaigns.name = %s AND leases.owner IS NOT NULL"
        )
        return int(self.cluster.query(text, self.name)[0][0])

    def keys(self) -> set[str]:
        """Return the keys of its rows, each of which may be charged once."""
        lines = self.cluster.type("rows", self.name, "--json").stdout.splitlines()
        return {json.loads(line)["key"] for line in lines}

    def charged(self) -> Counter[str]:
        """Return how often which key was charged since the stage was set."""
        return Counter(charges(self.cluster)[self.charged_before :])

    def must_be_paid_once(self, videos: int, most: int | None = None) -> None:
        """Hold the service's charge log to the rows of the ledger: videos that were begun."""
        found, keys = self.charged(), self.keys()
        most = videos if most is None else most
        twice = sum(1 for count in found.values() if count > 1)
        self.findings.must(
            "one charge for each video",
            not twice and found.keys() <= keys and videos <= found.total() <= most,
            f"{found.total():,} charges, {videos:,} videos; {twice} keys charged twice, "
            f"{len(found.keys() - keys)} that are no row's",
        )


def charges(cluster: Cluster) -> list[str]:
    """Return the keys in the service's own charge log, one for each charge."""
    return [one["idempotency_key"] for one in cluster.service.charges() if one["event"] == "charge"]


def wait_until(
    holds: Callable[[], bool], *, while_: Callable[[], bool] = lambda: True, within: float = WITHIN
) -> bool:
    """Wait until something holds; return False where it did not before the other ended."""
    until = time.monotonic() + within
    while not holds():
        if not while_():
            return holds()
        if time.monotonic() > until:
            raise TimeoutError("nothing of it moves any more")
        time.sleep(LOOK)
    return True
