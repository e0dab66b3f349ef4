"""Schedules of nightly runs: Prefect deployments, cron, systemd, Windows tasks.

One deployment per inbox, because Prefect starts only one run when two schedules of a deployment
are due in the same minute. Does not import Prefect.
"""

from __future__ import annotations

import json
import os
import re
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


# Nightly runs without Prefect: the lines for cron, a systemd timer and a Windows task.
#
# Each line first changes to the folder that it was made in, which leads to the ledger and the
# inboxes. It sets the variables that this shell has and a scheduler does not.


_DAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """A command that a schedule starts in a folder.

    `words` is the command with the full path of its program; `settings` are variables that it
    needs and a scheduler does not have; its output goes to `log`. `timezone` None means the time
    zone of the machine.
    """

    name: str
    words: tuple[str, ...]
    folder: Path
    log: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    cron: str
    timezone: str | None
    about: str


def crontab_lines(job: Job) -> list[str]:
    """Return the lines for `crontab -e`: the time zone, if there is one, and the job."""
    settings = "".join(f"{name}={quote(value)} " for name, value in job.settings.items())
    start = f"{settings}{join(job.words)} >> {quote(str(job.log))} 2>&1"
    command = f"cd {quote(str(job.folder))} && {start}"
    # A percent sign ends a command there.
    line = f"{five_fields(job.cron)} {command.replace('%', chr(92) + '%')}"
    return [line] if job.timezone is None else [f"CRON_TZ={job.timezone}", line]


def systemd_units(job: Job) -> Mapping[str, str]:
    """Return the units of a timer: the name and text of each file."""
    words = " ".join(_systemd_word(word) for word in job.words)
    settings = "".join(
        f"Environment={_systemd_text(f'{name}={value}')}\n" for name, value in job.settings.items()
    )
    # Parked, refused, or needs attention: the run reported it, and the unit did not fail.
    service = f"""\
[Unit]
Description={job.about}
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
WorkingDirectory={str(job.folder).replace("%", "%%")}
{settings}ExecStart={words}
SuccessExitStatus=3 4 5
TimeoutStartSec=infinity
"""
    moments = "".join(f"OnCalendar={one}\n" for one in calendar_events(job.cron, job.timezone))
    timer = f"""\
[Unit]
Description={job.about}, by the clock

[Timer]
{moments}# After a night that the machine was off, one scan, not one for each.
Persistent=true

[Install]
WantedBy=timers.target
"""
    return {f"{job.name}.service": service, f"{job.name}.timer": timer}


def _systemd_word(word: str) -> str:
    return _systemd_text(word).replace("$", "$$")


def _systemd_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("%", "%%")


def systemd_line(job: Job, units: Path) -> str:
    """Return the command that installs and starts a timer from the units in a folder."""
    copies = " ".join(quote(str(units / name)) for name in systemd_units(job))
    return (
        f"mkdir -p ~/.config/systemd/user && cp {copies} ~/.config/systemd/user/ && "
        "systemctl --user daemon-reload && "
        f"systemctl --user enable --now {quote(job.name)}.timer && loginctl enable-linger"
    )


def calendar_events(cron: str, timezone: str | None) -> list[str]:
    """Return a schedule in systemd's form: `Mon..Fri *-*-* 02:00:00 Europe/Berlin`.

    Two lines where cron means "this day or this weekday": one systemd line would need both.
    """
    minute, hour, day, month, weekday = five_fields(cron).upper().split()
    clock = f"{_part(hour, 0)}:{_part(minute, 0)}:00"
    zone = "" if timezone is None else f" {timezone}"
    months, days = _part(_numbered(month), 1), _part(day, 1)
    either = not day.startswith("*") and not weekday.startswith("*")
    named = "" if weekday == "*" else f"{_weekdays(weekday)} "
    if either:
        return [f"*-{months}-{days} {clock}{zone}", f"{named}*-{months}-* {clock}{zone}"]
    return [f"{named}*-{months}-{days} {clock}{zone}"]


def windows_line(job: Job) -> str | None:
    """Return the command that creates a Windows task; None if Windows has no such schedule."""
    when = _windows_schedule(five_fields(job.cron).upper())
    if when is None:
        return None
    words = " ".join(_windows_word(word) for word in job.words)
    settings = "".join(f'set "{name}={value}" && ' for name, value in job.settings.items())
    command = f"cmd /c {settings}cd /d {_windows_word(str(job.folder))} && {words}"
    told = command.replace('"', '\\"')
    return f'schtasks /Create /F /TN "{job.name}" {when} /TR "{told}"'


def _windows_schedule(cron: str) -> str | None:
    minute, hour, day, month, weekday = cron.split()
    if (day, month) != ("*", "*"):
        return None
    if minute.isdecimal() and hour.isdecimal():
        at = f"/ST {int(hour):02}:{int(minute):02}"
        if weekday == "*":
            return f"/SC DAILY {at}"
        days = ",".join(_DAYS[n].upper() for n in _numbers(weekday))
        return f"/SC WEEKLY /D {days} {at}"
    if (hour, weekday) != ("*", "*"):
        return None
    if minute.isdecimal():
        return f"/SC HOURLY /ST 00:{int(minute):02}"
    every = re.fullmatch(r"\*(?:/(\d+))?", minute)
    return f"/SC MINUTE /MO {every[1] or 1}" if every else None


def _windows_word(word: str) -> str:
    return f'"{word}"' if re.search(r"[\s&()^;,=]", word) else word


def _part(field: str, first: int) -> str:
    """Return a cron field in systemd's form: ranges with two dots, steps from a start."""

    def one(term: str) -> str:
        what, _, step = term.partition("/")
        if what == "*":
            return f"{first:02}/{step}" if step else "*"
        ends = "..".join(f"{int(end):02}" for end in what.split("-"))
        return f"{ends}/{step}" if step else ends

    return ",".join(map(one, field.split(",")))


def _numbered(month: str) -> str:
    for number, name in enumerate(_MONTHS, start=1):
        month = month.replace(name, str(number))
    return month


def _weekdays(field: str) -> str:
    return ",".join(_DAYS[n] for n in _numbers(field))


def _numbers(field: str) -> list[int]:
    """Return the weekdays of a field, 0 for Sunday, each once."""
    for number, name in enumerate(_DAYS[:7]):
        field = field.replace(name.upper(), str(number))
    found: set[int] = set()
    for term in field.split(","):
        what, _, step = term.partition("/")
        first, _, last = (what if what != "*" else "0-6").partition("-")
        upto = int(last) if last else (6 if step else int(first))
        found |= {n % 7 for n in range(int(first), upto + 1, int(step or 1))}
    return sorted(found)
