"""A server learns of our deployments.

    python -m callsheet.deployments.up.deploy PREFECT_YAML NOTE

It is told anew only where something has changed: to deploy again turns schedules on that somebody
has paused, and drops flow runs that are late. NOTE is where that is remembered. Imports nothing of
Prefect.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from callsheet.deployments.automations.__main__ import main as load_automations
from callsheet.deployments.prefect_address import PrefectAddress, prefect_address

POOL = "callsheet"
TEMPLATE = Path(__file__).parents[1] / "work-pools" / "process.json"
#: Automations that need nobody to be told, and pay for nothing.
AUTOMATIONS = ["zombie"]
#: How long the server may take for an answer, in seconds.
WITHIN = 10.0


def main() -> int:
    """Make the work pool, every deployment of the file and automations; 0 once they are there."""
    file, note = Path(sys.argv[1]), Path(sys.argv[2])
    at = prefect_address()
    assert at is not None, "whoever starts this says where the server is"
    make_pool(at)
    wanted, names = _digest(file), deployments_in(file)
    if _read(note) == wanted and _is_there(at, names):
        print(f"{len(names)} deployments are there as before")
        return 0
    note.unlink(missing_ok=True)
    words = ["--no-prompt", "deploy", "--all", "--prefect-file", str(file)]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "prefect", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stdout)
        return 1
    status = load_automations(AUTOMATIONS)
    if status == 0:
        note.write_text(wanted)
        print(f"deployed: {', '.join(names)}")
    # Its own 2 is for options, which are not somebody's here.
    return min(status, 1)


def make_pool(at: PrefectAddress, name: str = POOL) -> None:
    """Make a work pool of processes, unless there is one of this name."""
    try:
        template = json.loads(TEMPLATE.read_text())
        pool = {"name": name, "type": "process", "base_job_template": template}
        ask_prefect(at, "work_pools/", pool)
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise


def deployments_in(file: Path) -> list[str]:
    """Return the names of the deployments in a `prefect.yaml`."""
    from ruamel.yaml import YAML

    return [one["name"] for one in YAML(typ="safe").load(file)["deployments"]]


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
