"""Schedules of nightly runs: Prefect deployments and lines for cron.

One deployment per inbox, because Prefect starts only one run when two schedules of a deployment
are due in the same minute. Does not import Prefect.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import join, quote

from callsheet.deployments.prefect_address import PrefectAddress
from callsheet.deployments.prefect_steps import find_python
from callsheet.deployments.up.deploy import check_pool, deployments_in, make_pool, pools_of
from callsheet.tasks.nights.calendar import five_fields, name_of, next_due, read_zone
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.redact import redact

#: Timeout of `prefect deploy` in seconds: it imports the flows it deploys.
LIMIT = 300.0
#: Dotted paths of the flows.
NIGHTLY, DIGEST = "callsheet.flows.nightly.sweep_inbox", "callsheet.flows.nightly.tell_digest"


@dataclass(frozen=True, kw_only=True)
class Job:
    """A scheduled job of an inbox: its nightly run or its digest.

    `entrypoint` is the dotted path of its flow, `words` the command without the program's name.
    """

    name: str
    inbox: Inbox
    entrypoint: str
    words: tuple[str, ...]
    cron: str
    about: str

    @property
    def zone(self) -> str:
        """The name of the time zone of its schedule."""
        return name_of(read_zone(self.inbox.timezone))

    def next_due(self) -> float | None:
        """Return when it starts next, in Unix seconds."""
        return next_due(time.time(), cron=self.cron, timezone=self.inbox.timezone)


def jobs_of(inbox: Inbox) -> list[Job]:
    """Return the jobs of an inbox that has a schedule."""
    assert inbox.cron is not None, "it is scheduled"
    night = Job(
        name=f"nightly-{slug(inbox.name)}",
        inbox=inbox,
        entrypoint=NIGHTLY,
        words=("nightly", inbox.name),
        cron=inbox.cron,
        about=f"The sheets of {inbox.name} become videos",
    )
    if inbox.digest_cron is None or not (inbox.notify or inbox.notify_of):
        return [night]
    digest = Job(
        name=f"digest-{slug(inbox.name)}",
        inbox=inbox,
        entrypoint=DIGEST,
        words=("nights", "digest", inbox.name),
        cron=inbox.digest_cron,
        about=f"Digests of the nightly runs of {inbox.name}",
    )
    return [night, digest]


def slug(name: str) -> str:
    """Return a name that is valid for deployments and files."""
    return re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII).strip("-.") or "inbox"


def deployment_file(
    jobs: Sequence[Job], *, file: Path, folder: Path, pool: str, more: Mapping[str, str]
) -> str:
    """Return a Prefect file of jobs that start in a folder; `more` are parameters of every flow."""
    from jinja2 import Environment, PackageLoader

    templates = Environment(
        loader=PackageLoader("callsheet.deployments.nights"),
        autoescape=False,
        trim_blocks=True,
    )
    templates.filters["word"] = partial(json.dumps, ensure_ascii=False)
    words = {"jobs": jobs, "file": file, "folder": folder, "pool": pool, "more": more}
    return templates.get_template("prefect.yaml").render(words, python=find_python()["command"])


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


def crontab_lines(
    words: Sequence[str],
    *,
    cron: str,
    zone: str,
    folder: Path,
    log: Path,
    settings: Mapping[str, str],
) -> list[str]:
    """Return the lines for `crontab -e`: the time zone of the schedule, and the job.

    `words` is the command with the full path of its program. It starts in the folder that leads to
    the ledger and the inboxes, with the variables (`settings`) that this shell has and cron does
    not; its output goes to `log`.
    """
    given = "".join(f"{name}={quote(value)} " for name, value in settings.items())
    start = f"cd {quote(str(folder))} && {given}{join(words)} >> {quote(str(log))} 2>&1"
    # A percent sign ends a command there.
    return [f"CRON_TZ={zone}", f"{five_fields(cron)} {start.replace('%', chr(92) + '%')}"]
