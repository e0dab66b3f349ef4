"""Schedules of nightly runs: Prefect deployments and cron.

One deployment per inbox, because Prefect starts only one run when two schedules of a deployment
are due in the same minute. Does not import Prefect.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shlex import join, quote
from typing import Any

from callsheet.deployments.prefect_address import PrefectAddress
from callsheet.deployments.prefect_steps import find_python
from callsheet.deployments.up.deploy import check_pool, deployments_in, make_pool, pools_of
from callsheet.tasks.nights.calendar import five_fields
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.redact import redact

#: Timeout of `prefect deploy` in seconds: it imports the flows it deploys.
LIMIT = 300.0

_HEAD = """\
# Written by `callsheet nights install`, which writes it anew. To deploy it by hand, in the folder
# that the nights belong to:
#
#   prefect --no-prompt deploy --all --prefect-file {file}
#   python -P -m callsheet.deployments.prefect_worker --pool {pool}
#
# The Prefect worker needs the settings that a run needs (CALLSHEET_API_KEY, ...). A pause is in
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
    """One deployment with its schedule; `entrypoint` is the dotted path of a flow."""

    name: str
    entrypoint: str
    about: str
    cron: str
    timezone: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


def deployment_file(
    wanted: Iterable[NightDeployment], *, file: Path, folder: Path, pool: str
) -> str:
    """Return a Prefect file of deployments whose runs start in a folder."""
    head = _HEAD.format(file=file, pool=pool)
    return head + "\n".join(_lines_of(one, folder=folder, pool=pool) for one in wanted)


def _lines_of(one: NightDeployment, *, folder: Path, pool: str) -> str:
    """Return a deployment as YAML; values are written as JSON, which is valid YAML."""
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
    """Deploy a file to a server; create the work pool if it does not exist.

    Raise CallsheetError with Prefect's message, or ConfigurationError if another environment has
    these deployments.
    """
    try:
        check_pool(at, pools_of(at, deployments_in(file)).values(), pool)
        make_pool(at, pool)
    except OSError as error:
        raise CallsheetError(
            f"the Prefect server at {at.url} has no work pool {pool} and did not create it: "
            f"{redact(str(error))}",
            remedy="create it on its page, then run the command again",
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
            f"Prefect did not deploy the nightly runs: {redact(said)}",
            remedy=f"{file} says how to deploy it by hand",
        )


# Nightly runs without Prefect: the lines for cron.
#
# Each line first changes to the folder that it was made in, which leads to the ledger and the
# inboxes. It sets the variables that this shell has and cron does not.


@dataclass(frozen=True, kw_only=True)
class Job:
    """A command that cron starts in a folder.

    `words` is the command with the full path of its program; `settings` are variables that it
    needs and cron does not have; its output goes to `log`. `timezone` None means the time zone of
    the machine.
    """

    words: tuple[str, ...]
    folder: Path
    log: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    cron: str
    timezone: str | None


def crontab_lines(job: Job) -> list[str]:
    """Return the lines for `crontab -e`: the time zone, if there is one, and the job."""
    settings = "".join(f"{name}={quote(value)} " for name, value in job.settings.items())
    start = f"{settings}{join(job.words)} >> {quote(str(job.log))} 2>&1"
    command = f"cd {quote(str(job.folder))} && {start}"
    # A percent sign ends a command there.
    line = f"{five_fields(job.cron)} {command.replace('%', chr(92) + '%')}"
    return [line] if job.timezone is None else [f"CRON_TZ={job.timezone}", line]
