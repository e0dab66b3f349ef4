"""What a cluster is put through: machines that die or stop, databases and servers that restart,
runs that are cancelled or killed. Whatever happens, every video is paid for once."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from tests.cluster.findings import Findings
from tests.cluster.machines import Cluster, Machine, takes_so_many
from tests.cluster.stage import WITHIN, Stage, wait_until

#: How long a worker may take to let go once its machine is told to stop, in seconds.
LET_GO = 20.0
#: How long PostgreSQL is away, and how long nothing may be paid after a run was cancelled.
AWAY, QUIET = 3.0, 5.0
#: How long Prefect may take to notice that a machine is gone, in seconds (`ZOMBIE`).
NOTICED = 240.0
#: States in which a flow run is over.
OVER = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


def many_machines(cluster: Cluster, findings: Findings, rows: int) -> None:
    """Four machines carry a campaign; one dies, one is stopped, both servers restart."""
    findings.scene = f"{rows:,} rows on four machines, every answer of the service 0.2 s late"
    cluster.start_machines(4)
    stage = Stage(cluster, findings, "many", rows)
    dies, stops = (cluster.machines[f"machine-{n}"] for n in (1, 2))
    process = stage.start_run(4)

    def runs() -> bool:
        return process.poll() is None

    began = time.monotonic()
    wait_until(lambda: stage.states()["delivered"] > 0, while_=runs)
    findings.did(
        "the first video is delivered", f"{time.monotonic() - began:.0f} s after the start"
    )
    began = time.monotonic()
    wait_until(lambda: dies.flow_run() is not None, while_=runs)
    stage.until_delivered(0.15, runs)
    zombie = dies.flow_run()
    findings.must("a machine dies in the middle of a worker", zombie is not None and runs())
    dies.die()
    stage.until_delivered(0.3, runs)
    _stop_machine(stage, stops, runs)
    stage.until_delivered(0.45, runs)
    cluster.postgres.stop()
    time.sleep(AWAY)
    cluster.postgres.start()
    findings.must("PostgreSQL restarts in the middle", runs(), f"{AWAY:.0f} s away")
    stage.until_delivered(0.6, runs)
    cluster.prefect.stop()
    cluster.prefect.start()
    findings.must("Prefect's server restarts in the middle", runs())
    stage.until_delivered(1.0, runs)
    seconds = time.monotonic() - began
    findings.did("all is delivered", f"{rows / seconds:.0f} rows/s, trouble included")
    status = process.wait(WITHIN)
    _must_be_delivered(stage, status)
    _must_be_over(stage, zombie)


def _stop_machine(stage: Stage, machine: Machine, runs: Callable[[], bool]) -> None:
    """Tell a machine to stop, and hold it to let go of what it carries in time."""

    def is_at_work() -> bool:
        named = {run["id"]: run["state_name"] for run in stage.workers()}
        return named.get(machine.flow_run() or "") == "Running"

    wait_until(is_at_work, while_=runs)
    carried = machine.flow_run()
    began = time.monotonic()
    machine.shut_down()
    wait_until(lambda: machine.flow_run() is None, within=60)
    seconds = time.monotonic() - began
    findings = stage.findings
    findings.must(
        "a machine is told to stop: its worker lets go",
        carried is not None and seconds <= LET_GO and runs(),
        f"within {seconds:.1f} s",
    )
    status = machine.process.wait(60)
    named = {run["id"]: run["state_name"] for run in stage.workers()}
    findings.must(
        "its worker ends well, its flow run waits for another",
        status == 0 and named.get(carried or "") in ("Parked", "Running", "Completed"),
        f"exit {status}, {named.get(carried or '')}",
    )


def _must_be_delivered(stage: Stage, status: int) -> None:
    findings, rows = stage.findings, stage.rows
    told, err = stage.said()
    findings.must("the command ends well", status == 0, f"exit {status}")
    findings.must("it shows no traceback", "Traceback" not in err)
    findings.must(
        "every row is delivered", stage.states() == {"delivered": rows}, _words(stage.states())
    )
    counted = told.get("rows", {}).get("delivered"), told.get("credits", {})
    findings.must(
        "what it says adds up",
        counted[0] == rows and counted[1].get("reserved") == 0,
        f"{counted[0]} delivered, {counted[1].get('charged')} credits",
    )
    stage.must_be_paid_once(rows)
    verified = stage.cluster.type("verify", stage.name, "--json")
    files = json.loads(verified.stdout)["files"] if verified.returncode == 0 else verified.stderr
    findings.must("every video is in the store, intact", verified.returncode == 0, files)
    findings.must("no worker has rows", stage.held() == 0, stage.held())


def _must_be_over(stage: Stage, zombie: str | None) -> None:
    """Expect every flow run of the workers to end; Prefect notices dead machines on its own."""

    def left() -> dict[str, str]:
        states = {run["id"]: run["state_name"] for run in stage.workers()}
        over = {run["id"] for run in stage.workers() if run["state_type"] in OVER}
        return {run: name for run, name in states.items() if run not in over}

    with suppress(TimeoutError):
        wait_until(lambda: left().keys() <= {zombie}, within=60)
    findings = stage.findings
    findings.did("the dead machine's flow run is shown as", left().get(zombie or "", "over"))
    began = time.monotonic()
    with suppress(TimeoutError):
        wait_until(lambda: not left(), within=NOTICED)
    found = Counter(run["state_name"] for run in stage.workers())
    words = ", ".join(f"{count} {name}" for name, count in found.items())
    seconds = f"{time.monotonic() - began:.0f} s later"
    findings.must("no flow run of a worker stays running", not left(), f"{words}, {seconds}")


def cancelled(cluster: Cluster, findings: Findings, rows: int) -> None:
    """A run that is itself a flow run is cancelled on Prefect's page while workers are at work."""
    rows = max(150, rows // 5)
    cluster.start_machines(4)
    findings.scene = f"{rows:,} rows by the deployment `campaign`, cancelled in the middle"
    stage = Stage(cluster, findings, "cancelled", rows)
    # However slow the machine is, the rest has not begun when the run is cancelled.
    takes_so_many(cluster.service, rows // 2)
    prefect = cluster.prefect
    deployment = prefect.ask("deployments/name/campaign/campaign")["id"]
    asked = {"sheet": "cancelled.csv", "approve": "yes", "workers": 2}
    made = prefect.ask(f"deployments/{deployment}/create_flow_run", {"parameters": asked})
    run = f"flow_runs/{made['id']}"

    def runs() -> bool:
        return prefect.ask(run)["state_type"] not in OVER

    stage.until_delivered(0.02, runs)
    findings.must("it is cancelled in the middle", runs(), _words(stage.states()))
    cancelling = {"state": {"type": "CANCELLING", "name": "Cancelling"}}
    prefect.ask(f"{run}/set_state", cancelling)
    began = time.monotonic()
    wait_until(lambda: not runs(), within=120)
    state = prefect.ask(run)["state"]
    findings.must(
        "its flow run ends as cancelled",
        state["type"] == "CANCELLED",
        f"{state['name']} after {time.monotonic() - began:.0f} s: {state['message']}",
    )
    wait_until(lambda: all(one["state_type"] in OVER for one in stage.workers()), within=60)
    takes_so_many(cluster.service)
    named = Counter(one["state_name"] for one in stage.workers())
    findings.must("so have its workers ended", True, _words(named))
    paid = stage.charged().total()
    time.sleep(QUIET)
    found = stage.charged().total()
    findings.must("nothing more is paid after that", found == paid, f"{paid} charges, {found}")
    states = stage.states()
    findings.must("not all was made", states["cancelled"] > 0, _words(states))
    made = sum(states[name] for name in ("rendering", "ready", "delivered"))
    stage.must_be_paid_once(made, rows - states["cancelled"])
    findings.must("no worker has rows", stage.held() == 0, stage.held())


def parent_killed(cluster: Cluster, findings: Findings, rows: int) -> None:
    """A command is killed while its two workers are active; run again, it finds all delivered."""
    rows = max(150, rows // 5)
    cluster.start_machines(4)
    findings.scene = f"{rows:,} rows whose command is killed in the middle, then typed again"
    stage = Stage(cluster, findings, "orphans", rows)
    process = stage.start_run(2)
    stage.until_delivered(0.05, lambda: process.poll() is None)
    findings.must("it is killed in the middle", process.poll() is None, _words(stage.states()))
    process.kill()
    process.wait()
    wait_until(lambda: stage.states()["delivered"] == rows)
    findings.must("its workers deliver all the same", True, _words(stage.states()))
    wait_until(lambda: all(one["state_type"] in OVER for one in stage.workers()), within=120)
    findings.must(
        "and end", stage.held() == 0, _words(Counter(o["state_name"] for o in stage.workers()))
    )
    stage.must_be_paid_once(rows)
    status = stage.start_run(2).wait(WITHIN)
    told, _ = stage.said()
    findings.must(
        "typed again: all is delivered, nothing is paid",
        status == 0
        and told["rows"] == {"total": rows, "delivered": rows}
        and told["credits"].get("charged_this_run", 0) == 0
        and stage.charged().total() == rows,
        f"exit {status}, {told.get('credits', {}).get('charged_this_run')} credits",
    )


def _words(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


SCENES: dict[str, Callable[[Cluster, Findings, int], None]] = {
    "machines": many_machines,
    "cancelled": cancelled,
    "parent-killed": parent_killed,
}
