"""The parts of a cluster, real programs of this machine: PostgreSQL, Prefect, workers, service.

A worker stands for a machine: when that dies, all of its processes are gone at once.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg
from sqlalchemy.engine import make_url

from callsheet.deployments.automations.__main__ import read
from callsheet.deployments.process import listen_on
from callsheet.deployments.servers import server_environ, server_words
from callsheet.deployments.up.deploy import POOL
from tests.cluster.postgres import Postgres, postgres
from tests.programs import CALLSHEET, ROOT, Desk, Sandbox, sandbox
from tests.web import free_port

PREFECT_FILE = ROOT / "deployments" / "prefect.yaml"
#: How often a worker asks for flow runs, in seconds; Prefect's own default is 10.
ASKS = 2
#: How often a flow run says that it lives, and how long one may say nothing, in seconds. In
#: `automations/zombie.yaml` it is nine minutes, at Prefect's own default of three.
HEARTBEAT, ZOMBIE = 30, 90
#: How late every answer of the service is, in seconds.
LATENCY = 0.2
#: How long a part may take to come up on a machine that is busy, in seconds.
WITHIN = 180.0


class PrefectOnPostgres:
    """A Prefect server of a team's own, its history in PostgreSQL."""

    def __init__(self, folder: Path, database: str) -> None:
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}/api"
        self._folder = folder
        self._database = database
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers; the first time it makes its tables."""
        self._folder.mkdir(parents=True, exist_ok=True)
        address = make_url(self._database).set(drivername="postgresql+asyncpg")
        shown = address.render_as_string(hide_password=False)
        environ = {
            **server_environ(self._folder, self.url),
            "PREFECT_SERVER_DATABASE_CONNECTION_URL": shown,
        }
        place = ("127.0.0.1", self._port)
        with (
            (self._folder / "server.log").open("ab") as log,
            listen_on(socket.AF_INET, place, backlog=128) as listening,
        ):
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", *server_words(listening)],
                pass_fds=(listening.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environ,
                cwd=self._folder,
                start_new_session=True,
            )
        until = time.monotonic() + WITHIN
        while not self.answers():
            assert self._process.poll() is None, f"see {self._folder / 'server.log'}"
            assert time.monotonic() < until, "the Prefect server does not answer"
            time.sleep(0.2)

    def stop(self) -> None:
        """End it in order."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)

    def answers(self) -> bool:
        """Whether it answers right now."""
        try:
            self.ask("health")
        except OSError:
            return False
        return True

    def ask(self, path: str, body: object = None, *, method: str | None = None) -> Any:
        """Return what its interface answers."""
        request = urllib.request.Request(
            f"{self.url}/{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def flow_runs(self, flow: str) -> list[dict[str, Any]]:
        """Return the runs of a flow, oldest first."""
        wanted = {"flows": {"name": {"any_": [flow]}}, "sort": "EXPECTED_START_TIME_ASC"}
        return list(self.ask("flow_runs/filter", wanted))


@dataclass
class Machine:
    """A worker with whatever it carries."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def die(self) -> None:
        """Be gone at once, with everything on it."""
        everything = self._processes()
        for process in everything:
            with suppress(psutil.Error):
                # None of them sees another one go.
                process.suspend()
        for process in everything + self._processes():
            with suppress(psutil.Error):
                process.kill()
        self.process.wait()

    def shut_down(self) -> None:
        """Be told to stop, as by whoever runs it."""
        self.process.send_signal(signal.SIGTERM)

    def flow_run(self) -> str | None:
        """Return the flow run that it carries, by the environment of its processes."""
        for process in self._processes():
            with suppress(psutil.Error):
                if carried := process.environ().get("PREFECT__FLOW_RUN_ID"):
                    return carried
        return None

    def _processes(self) -> list[psutil.Process]:
        with suppress(psutil.Error):
            own = psutil.Process(self.process.pid)
            return [own, *own.children(recursive=True)]
        return []


@dataclass
class Cluster:
    """All of it, up; `desk` is where people type, and knows the same ledger and Prefect server."""

    folder: Path
    postgres: Postgres
    prefect: PrefectOnPostgres
    service: Sandbox
    desk: Desk
    machines: dict[str, Machine] = field(default_factory=dict)

    def start_machines(self, count: int) -> None:
        """Have so many machines up, new ones for those that are gone."""
        up = [one for one in self.machines.values() if one.process.poll() is None]
        for _ in range(count - len(up)):
            self.start_machine(f"machine-{len(self.machines) + 1}")

    def start_machine(self, name: str) -> Machine:
        """Start a worker that carries one flow run at a time."""
        log = self.folder / f"{name}.log"
        words = ["--pool", POOL, "--type", "process", "--name", name, "--limit", "1"]
        with log.open("ab") as out:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "callsheet.deployments.prefect_worker", *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=self.environment(
                    PREFECT_HOME=str(self.folder / f"{name}.prefect"),
                    PREFECT_WORKER_QUERY_SECONDS=str(ASKS),
                    PREFECT_FLOWS_HEARTBEAT_FREQUENCY=str(HEARTBEAT),
                ),
                cwd=self.desk.folder,
            )
        self.machines[name] = Machine(name, process, log)
        return self.machines[name]

    def environment(self, **own: str) -> dict[str, str]:
        """Return the environment of a program that knows this cluster."""
        return {**self.desk.environment(), "PWD": str(self.desk.folder), **own}

    def type(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Type a command to its end."""
        return subprocess.run(
            [*CALLSHEET, *words],
            capture_output=True,
            text=True,
            cwd=self.desk.folder,
            env=self.environment(),
            check=False,
        )

    def query(self, text: str, *values: object) -> list[tuple[Any, ...]]:
        """Ask the ledger's database."""
        with psycopg.connect(self.desk.environ["CALLSHEET_LEDGER"]) as connection:
            return connection.execute(text, values).fetchall()  # type: ignore[call-overload,no-any-return]


def takes_so_many(service: Sandbox, creates: int | None = None) -> None:
    """Have the service answer as slowly as a real one, and take so many creates, if given."""
    service.clear_faults()
    if creates is not None:
        service.plan_fault(on="create", do="limited", nth=f"{creates + 1}-1000000")
    service.plan_fault(on="*", do="slow", every=1, seconds=LATENCY)


@contextmanager
def cluster(folder: Path, settings: Mapping[str, str]) -> Iterator[Cluster]:
    """Run everything but the workers, deployed; end all of it afterwards."""
    desk_folder = folder / "desk"
    desk_folder.mkdir(parents=True)
    with ExitStack() as stack:
        server = stack.enter_context(postgres())
        service = stack.enter_context(sandbox(folder / "service", "--credits", "10000000"))
        takes_so_many(service)
        prefect = PrefectOnPostgres(folder / "prefect", server.new_database("prefect"))
        stack.callback(prefect.stop)
        prefect.start()
        environ = {
            **service.environ,
            "CALLSHEET_LEDGER": server.new_database("ledger"),
            "CALLSHEET_STORE": str(folder / "videos"),
            "PREFECT_HOME": str(folder / "desk.prefect"),
            "PREFECT_API_URL": prefect.url,
            "DO_NOT_TRACK": "1",
            **settings,
        }
        found = Cluster(folder, server, prefect, service, Desk(desk_folder, environ))
        _deploy(found)
        try:
            yield found
        finally:
            for machine in found.machines.values():
                if machine.process.poll() is None:
                    machine.die()


def _deploy(found: Cluster) -> None:
    """Have the server know our deployments, as `callsheet up` and people do."""
    words = [sys.executable, "-P", "-m", "callsheet.deployments.up.deploy", str(PREFECT_FILE)]
    done = subprocess.run(
        [*words, str(found.folder / "deployed")],
        cwd=found.desk.folder,
        env=found.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    known = found.prefect.ask("automations/filter", {})
    automation = read(ROOT / "deployments" / "automations" / "zombie.yaml", None)
    automation["trigger"]["within"] = ZOMBIE
    (number,) = [one["id"] for one in known if one["name"] == automation["name"]]
    found.prefect.ask(f"automations/{number}", automation, method="PUT")
