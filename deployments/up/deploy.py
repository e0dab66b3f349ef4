"""Deploys the flows to a Prefect server.

    python -m callsheet.deployments.up.deploy PREFECT_YAML NOTE [POOL [TEMPLATE]]

POOL replaces the work pool in the file; TEMPLATE is the base job template of a pool that is not of
type process. Two environments on one server do not take each other's deployments: the one with an
active Prefect worker keeps them.

Deploys only if something has changed, because a new deployment turns paused schedules on and drops
late flow runs. NOTE is a file that records the last deployment. Imports Prefect only if there is
something to deploy, and does so while the server starts.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import runpy
import sys
import time
import urllib.error
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

from callsheet.deployments.automations.__main__ import main as load_automations
from callsheet.deployments.prefect_address import PrefectAddress, prefect_address
from callsheet.tasks.runtime.errors import ConfigurationError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import own_version
from callsheet.tasks.runtime.redact import say, visible

POOL = "callsheet"
TEMPLATE = Path(__file__).parents[1] / "work-pools" / "process.json"
#: Automations that need no recipient and pay for nothing.
AUTOMATIONS = ["zombie"]
#: How long to wait for the server to start, and how often to ask it, in seconds.
START_LIMIT, ASK = 150.0, 0.25


def pool_of(settings: Settings, *, environment: str, shared: bool) -> str:
    """Return the work pool of an environment: from the settings, else named after it.

    A server that is not `shared` has one environment, which needs no name.
    """
    if settings.prefect_pool is not None:
        return settings.prefect_pool
    # Prefect does not allow slashes and ampersands, among others.
    name = re.sub(r"[^\w.-]+", "-", environment)
    return f"{POOL}-{name}" if shared else POOL


def main() -> int:
    """Create the work pool, deployments and automations; return 0 on success."""
    file, note = Path(sys.argv[1]), Path(sys.argv[2])
    pool, *template = sys.argv[3:] or [POOL]
    at = prefect_address()
    assert at is not None, "whoever starts this says where the server is"
    wanted, deployments = _digest(file, pool), deployments_in(file)
    if _read(note) != wanted:
        _import_what_is_deployed(deployments)
    _wait_for(at)
    there = pools_of(at, deployments)
    try:
        check_pool(at, there.values(), pool)
    except ConfigurationError as error:
        say(f"{error}\n  {error.remedy}")
        return error.exit_status
    make_pool(at, pool, *map(Path, template))
    if _read(note) == wanted and set(there) == set(deployments) and {*there.values()} == {pool}:
        print(visible(f"{len(deployments)} deployments already exist"))
        return 0
    note.unlink(missing_ok=True)
    if status := _deploy(_on_pool(file, note, pool)):
        return status
    status = load_automations(AUTOMATIONS)
    if status == 0:
        note.write_text(wanted, "utf-8")
        print(visible(f"deployed: {', '.join(deployments)}"))
    # Prefect's status 2 means wrong options, which are not the user's here.
    return min(status, 1)


def check_pool(at: PrefectAddress, there: Iterable[str], pool: str) -> None:
    """Raise ConfigurationError if deployments are on another work pool with a worker."""
    for other in {*there} - {pool}:
        if count_workers(at, other):
            raise ConfigurationError(
                f"another environment has these deployments on the Prefect server at {at.url}: "
                f"its work pool {other} has a Prefect worker, and {pool} would take its runs over",
                remedy="use a Prefect server for each environment, or share one pool and the same "
                f"settings: CALLSHEET_PREFECT_POOL={other}; if that worker is yours, stop it and "
                "wait 2 minutes",
            )


def _on_pool(file: Path, note: Path, pool: str) -> Path:
    """Return the file with another work pool, written next to the note."""
    if pool == POOL:
        return file
    from ruamel.yaml import YAML

    document = YAML(typ="safe").load(file)
    for one in document["deployments"]:
        one["work_pool"]["name"] = pool
    made = note.with_name(f"{note.name}.yaml")
    # JSON is valid YAML.
    made.write_text(json.dumps(document), "utf-8")
    return made


def _import_what_is_deployed(deployments: Mapping[str, str]) -> None:
    for module in ("prefect.cli.deploy", *(one.rpartition(".")[0] for one in deployments.values())):
        importlib.import_module(module)


def _wait_for(at: PrefectAddress) -> None:
    """Wait until the server answers; later requests report if it does not."""
    until = time.monotonic() + START_LIMIT
    while not at.answers() and time.monotonic() < until:
        time.sleep(ASK)


def _deploy(file: Path) -> int:
    """Run `prefect deploy` in this process, which has its imports; return its status."""
    sys.argv = ["prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)]
    try:
        runpy.run_module("prefect", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return int(bool(end.code))
    return 0


def make_pool(at: PrefectAddress, name: str = POOL, template: Path | None = None) -> None:
    """Create a process work pool, unless there is one with this name.

    A template sets its type; an existing pool gets the current template.
    """
    said = json.loads((template or TEMPLATE).read_text("utf-8"))
    # Prefect's pool types: Kubernetes jobs have a manifest.
    kind = "kubernetes" if "job_manifest" in said["job_configuration"] else "process"
    try:
        at.ask("work_pools/", {"name": name, "type": kind, "base_job_template": said})
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise
        if template is not None:
            path = f"work_pools/{quote(name, safe='')}"
            at.ask(path, {"base_job_template": said}, method="PATCH")


def deployments_in(file: Path) -> dict[str, str]:
    """Return the entry point of each deployment in a `prefect.yaml`, by its name."""
    from ruamel.yaml import YAML

    return {one["name"]: one["entrypoint"] for one in YAML(typ="safe").load(file)["deployments"]}


def pools_of(at: PrefectAddress, deployments: Mapping[str, str]) -> dict[str, str]:
    """Return the work pools of existing deployments by deployment name."""
    asked = {"deployments": {"name": {"any_": list(deployments)}}, "limit": 200}
    found = at.ask("deployments/filter", asked)
    ours = (one for one in found if one["entrypoint"] == deployments[one["name"]])
    return {one["name"]: one["work_pool_name"] or "" for one in ours}


def count_workers(at: PrefectAddress, pool: str) -> int:
    """Return how many workers of a work pool are online; 0 if there is no such pool."""
    try:
        found = at.ask(f"work_pools/{quote(pool, safe='')}/workers/filter", {})
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return 0
    return sum(one.get("status") == "ONLINE" for one in found)


def _digest(file: Path, pool: str) -> str:
    """Return the fingerprint of these deployments: file, folder and versions."""
    parts = [
        file.read_text("utf-8"),
        os.getcwd(),
        sys.executable,
        version("prefect"),
        own_version(),
        *([] if pool == POOL else [pool]),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _read(note: Path) -> str | None:
    with suppress(OSError):
        return note.read_text("utf-8")
    return None


if __name__ == "__main__":
    raise SystemExit(main())
