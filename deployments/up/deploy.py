"""A server learns of our deployments.

    python -m callsheet.deployments.up.deploy PREFECT_YAML NOTE

It is told anew only where something has changed: to deploy again turns schedules on that somebody
has paused, and drops flow runs that are late. NOTE is where that is remembered. Imports Prefect
only where there is something to deploy, and does so while the server starts.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import runpy
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from callsheet.deployments.automations.__main__ import main as load_automations
from callsheet.deployments.prefect_address import PrefectAddress, prefect_address
from callsheet.tasks.visible import visible

POOL = "callsheet"
TEMPLATE = Path(__file__).parents[1] / "work-pools" / "process.json"
#: Automations that need nobody to be told, and pay for nothing.
AUTOMATIONS = ["zombie"]
#: How long the server may take for an answer, in seconds.
WITHIN = 10.0
#: How long it is waited for while it starts, and how often it is asked, in seconds.
START_LIMIT, ASK = 150.0, 0.25


def main() -> int:
    """Make the work pool, every deployment of the file and automations; 0 once they are there."""
    file, note = Path(sys.argv[1]), Path(sys.argv[2])
    at = prefect_address()
    assert at is not None, "whoever starts this says where the server is"
    wanted, deployments = _digest(file), deployments_in(file)
    if _read(note) != wanted:
        _import_what_is_deployed(deployments)
    _wait_for(at)
    make_pool(at)
    if _read(note) == wanted and _is_there(at, list(deployments)):
        print(visible(f"{len(deployments)} deployments are there as before"))
        return 0
    note.unlink(missing_ok=True)
    if status := _deploy(file):
        return status
    status = load_automations(AUTOMATIONS)
    if status == 0:
        note.write_text(wanted)
        print(visible(f"deployed: {', '.join(deployments)}"))
    # Its own 2 is for options, which are not somebody's here.
    return min(status, 1)


def _import_what_is_deployed(deployments: Mapping[str, str]) -> None:
    for module in ("prefect.cli.deploy", *(one.rpartition(".")[0] for one in deployments.values())):
        importlib.import_module(module)


def _wait_for(at: PrefectAddress) -> None:
    """Wait until the server answers; what is asked of it later says so where it does not."""
    until = time.monotonic() + START_LIMIT
    while not at.answers() and time.monotonic() < until:
        time.sleep(ASK)


def _deploy(file: Path) -> int:
    """Carry out `prefect deploy` in this process, which has its imports; return its status."""
    sys.argv = ["prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)]
    try:
        runpy.run_module("prefect", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return int(bool(end.code))
    return 0


def make_pool(at: PrefectAddress, name: str = POOL) -> None:
    """Make a work pool of processes, unless there is one of this name."""
    try:
        template = json.loads(TEMPLATE.read_text())
        pool = {"name": name, "type": "process", "base_job_template": template}
        ask_prefect(at, "work_pools/", pool)
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise


def deployments_in(file: Path) -> dict[str, str]:
    """Return the entry point of each deployment in a `prefect.yaml`, by its name."""
    from ruamel.yaml import YAML

    return {one["name"]: one["entrypoint"] for one in YAML(typ="safe").load(file)["deployments"]}


def ask_prefect(at: PrefectAddress, path: str, body: object = None) -> Any:
    """Return what the server's API answers; raises OSError where it does not, or refuses."""
    request = urllib.request.Request(
        f"{at.url.rstrip('/')}/{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"content-type": "application/json", **at.headers()},
    )
    tls = at.tls() if at.url.startswith("https:") else None
    with urllib.request.urlopen(request, timeout=WITHIN, context=tls) as answer:
        return json.load(answer)


def _is_there(at: PrefectAddress, names: list[str]) -> bool:
    wanted = {"deployments": {"name": {"any_": names}}}
    return int(ask_prefect(at, "deployments/count", wanted)) >= len(set(names))


def _digest(file: Path) -> str:
    """Return what tells these deployments from others: the file, the folder, the versions."""
    parts = [
        file.read_text(),
        os.getcwd(),
        sys.executable,
        version("prefect"),
        version("callsheet"),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _read(note: Path) -> str | None:
    with suppress(OSError):
        return note.read_text()
    return None


if __name__ == "__main__":
    raise SystemExit(main())
