"""Nights as deployments of Prefect's: written to a file, and given to its server.

One deployment for each inbox: of two schedules of one deployment that come in the same minute
Prefect starts one. Imports nothing of Prefect.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from callsheet.deployments.prefect_address import PrefectAddress
from callsheet.deployments.prefect_steps import find_python
from callsheet.deployments.up.deploy import check_pool, deployments_in, make_pool, pools_of
from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.redact import redact

#: How long `prefect deploy` may take, in seconds: it imports what it deploys.
LIMIT = 300.0

_HEAD = """\
# Written by `callsheet nights install`, which writes it anew. To deploy it by hand, in the folder
# that the nights belong to:
#
#   prefect --no-prompt deploy --all --prefect-file {file}
#   python -P -m callsheet.deployments.prefect_worker --pool {pool}
#
# The worker needs the settings that a run needs (CALLSHEET_API_KEY, ...). A pause is in
# the ledger (`callsheet nights pause`), and no matter of what is deployed here.
name: callsheet
pull: []
build:
  # The Python that deploys is the one that flow runs are started with.
  - callsheet.deployments.prefect_steps.find_python:
      id: python

deployments:
"""


@dataclass(frozen=True, kw_only=True)
class NightDeployment:
    """One deployment with its schedule; `entrypoint` is a flow's by its module."""

    name: str
    entrypoint: str
    about: str
    cron: str
    timezone: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


def deployment_file(
    wanted: Iterable[NightDeployment], *, file: Path, folder: Path, pool: str
) -> str:
    """Return the Prefect file of some deployments whose runs are to be in a folder."""
    head = _HEAD.format(file=file, pool=pool)
    return head + "\n".join(_lines_of(one, folder=folder, pool=pool) for one in wanted)


def _lines_of(one: NightDeployment, *, folder: Path, pool: str) -> str:
    """Return a deployment as YAML; what stands in JSON is the same there."""
    said = {name: _word(value) for name, value in vars(one).items()}
    parameters = "".join(f"\n      {name}: {_word(v)}" for name, v in one.parameters.items())
    return f"""\
  - name: {said["name"]}
    entrypoint: {said["entrypoint"]}
    description: {said["about"]}
    tags: [callsheet, nights]
    parameters:{parameters}
    schedules:
      - slug: {said["name"]}
        cron: {said["cron"]}
        timezone: {said["timezone"]}
    # Nights do not pile up: what comes while one is under way waits for its end, and then knows
    # whether a newer one is due.
    concurrency_limit:
      limit: 1
      collision_strategy: ENQUEUE
    work_pool:
      name: {_word(pool)}
      job_variables:
        working_dir: {_word(str(folder))}
        # What lies in that folder is no part of the program.
        command: {_word(find_python()["command"])}
        env:
          PYTHONSAFEPATH: "1"
"""


def _word(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def deploy(file: Path, *, at: PrefectAddress, folder: Path, pool: str) -> None:
    """Give the deployments of a file to a server, with their work pool unless it is there.

    Raises CallsheetError with Prefect's own words, ConfigurationError where another environment has
    these deployments.
    """
    try:
        check_pool(at, pools_of(at, deployments_in(file)).values(), pool)
        make_pool(at, pool)
    except OSError as error:
        raise CallsheetError(
            f"the Prefect server at {at.url} has no work pool {pool}, and makes none: "
            f"{redact(str(error))}",
            remedy="make it on its page, then run the same command again",
        ) from error
    words = [sys.executable, "-P", "-m", "prefect", "--no-prompt", "deploy", "--all"]
    done = subprocess.run(
        [*words, "--prefect-file", str(file)],
        cwd=folder,
        env={**os.environ, "PREFECT_API_URL": at.url, "NO_COLOR": "1", "PWD": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    if done.returncode:
        said = " ".join(done.stdout.split())[-600:]
        raise CallsheetError(
            f"Prefect did not take the nights: {redact(said)}",
            remedy=f"{file} says how it is deployed by hand",
        )
