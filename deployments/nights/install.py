"""`callsheet nights install`: starts nightly runs by Prefect or by cron.

Options are first stored in `nights.toml`, which all schedules come from. The Prefect file is
written next to the ledger.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
import tomllib
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from shlex import join, quote
from typing import Any

from callsheet.deployments.commands.options import settings_of
from callsheet.deployments.nights.overview import named_inboxes
from callsheet.deployments.nights.schedules import (
    Job,
    crontab_lines,
    deploy,
    deployment_file,
    jobs_of,
    slug,
)
from callsheet.deployments.prefect_address import REMEDY, PrefectAddress, ServerAnswer
from callsheet.deployments.servers import prefect_of
from callsheet.deployments.terminal import console_for, plain, print_json, say_moment
from callsheet.deployments.up.deploy import pool_of
from callsheet.deployments.up.programs import environment_of
from callsheet.deployments.up.up_file import prefect_kept
from callsheet.tasks.ledger.database import ledger_url, shown_address
from callsheet.tasks.nights.calendar import check_schedule, name_of, read_zone
from callsheet.tasks.nights.inboxes import FILES, Inbox, listed_inboxes
from callsheet.tasks.notices.addresses import with_stored
from callsheet.tasks.runtime.errors import BadInput, ConfigurationError
from callsheet.tasks.runtime.files import whole_file
from callsheet.tasks.runtime.home import make_home
from callsheet.tasks.runtime.known_settings import SECRETS, Settings
from callsheet.tasks.runtime.redact import say
from callsheet.tasks.runtime.settings import PREFIX, settings_in_environment
from callsheet.tasks.runtime.suggest import again_with

#: The variable that names the ledger.
LEDGER = f"{PREFIX}LEDGER"


async def install(args: Namespace) -> int:
    """Schedule nightly runs with the Prefect server, or print lines for cron."""
    settings, folder = settings_of(args), Path.cwd()
    server = None if args.without_prefect else prefect_of(settings.home)
    if server is None:
        _check_ledger()
    file, inboxes = _scheduled(args, settings)
    make_home(settings.home)
    if server is not None:
        await asyncio.to_thread(_check, server)
    # A file in a default location is not named.
    named = None if file.parent in (folder, folder / "configs") and not args.nights else file
    said = {"nights": named, "profile": args.profile}
    more = {name: str(value) for name, value in said.items() if value}
    jobs = [job for inbox in inboxes for job in jobs_of(with_stored(inbox, settings.home))]
    document: dict[str, Any] = {"folder": str(folder), "file": str(file)}
    if server is not None:
        document |= await asyncio.to_thread(_deploy, args, settings, jobs, server, more)
    else:
        document |= _lines(args, settings, jobs, more)
    document["nights"] = [
        {
            "inbox": job.inbox.name,
            "cron": job.cron,
            "timezone": job.zone,
            "next_at": job.next_due(),
        }
        for job in jobs
        if job.words[0] == "nightly"
    ]
    if args.json:
        print_json(document)
    return 0


def _check(server: PrefectAddress) -> None:
    """Raise BadInput if the server refuses the login or does not answer."""
    health = server.health()
    if health is ServerAnswer.REFUSED:
        raise BadInput(f"{server.refusal()}; nothing was installed", remedy=REMEDY)
    if health is ServerAnswer.AWAY:
        raise BadInput(
            f"the Prefect server at {server.url} does not answer; nothing was installed",
            remedy="start it, or, for cron, " + again_with("--without-prefect"),
        )


def _check_ledger() -> None:
    """Raise BadInput if only this shell knows the ledger, and its address is a secret.

    A line without it would start, with a new ledger that knows of no video.
    """
    address = os.environ.get(LEDGER, "").strip()
    if not address or not _is_secret(LEDGER, address):
        return
    raise BadInput(
        f"the ledger's address in {LEDGER} has a password, which a line for cron cannot show, and "
        "without it the nightly run would begin a new ledger; nothing was installed",
        remedy=f"write the address to a file and set {LEDGER}_FILE to its path, then run the "
        "command again",
    )


def _is_secret(name: str, value: str) -> bool:
    """Return whether the value of a setting must not be printed."""
    if name == LEDGER:
        url = ledger_url(value)
        return shown_address(url) != url.render_as_string(hide_password=False)
    return name.removeprefix(PREFIX).lower() in SECRETS


def _scheduled(args: Namespace, settings: Settings) -> tuple[Path, list[Inbox]]:
    """Store the schedule in the file; return the file and its inboxes."""
    if args.cron is not None or args.timezone is not None:
        check_schedule(args.cron or "@daily", args.timezone)
    there = next((one for one in FILES if one.is_file()), FILES[0])
    file = Path(args.nights or settings.nights or there).absolute()
    said = {"cron": args.cron, "timezone": args.timezone}
    terms = {name: value for name, value in said.items() if value is not None}
    found = [_named(inbox) for inbox in named_inboxes(args, settings, args.inboxes)]
    _check_names(found, listed_inboxes(Path.cwd(), file) if file.exists() else ())
    for inbox in found:
        if inbox.cron is None and args.cron is None:
            raise BadInput(
                f"{inbox.name} has no schedule; nothing was installed",
                remedy="edit nights.toml, or "
                + again_with("--cron", "0 2 * * *", "--timezone", "Europe/Berlin"),
            )
    for inbox in found:
        # Without a zone the schedule would depend on the machine.
        zone = {} if inbox.timezone or args.timezone else {"timezone": _own_zone()}
        if write_terms(file, inbox, {**terms, **zone}):
            say(f"stored the schedule of {inbox.name} in {file}")
    listed = {inbox.name: inbox for inbox in listed_inboxes(Path.cwd(), file)}
    return file, [listed[inbox.name] for inbox in found]


def _named(inbox: Inbox) -> Inbox:
    """Return an inbox with a name for the file: the last part of its location."""
    if "/" not in inbox.name and "\\" not in inbox.name:
        return inbox
    return replace(inbox, name=slug(inbox.place.rstrip("/").rpartition("/")[2]))


def _check_names(found: Sequence[Inbox], listed: Sequence[Inbox]) -> None:
    """Raise BadInput if two inboxes would share a schedule: the second replaces the first."""
    places: dict[str, Inbox] = {}
    for inbox in (*listed, *found):
        other = places.setdefault(slug(inbox.name), inbox)
        if other.place != inbox.place:
            raise BadInput(
                f"{inbox.place} would have the schedule of {other.place}, nightly-"
                f"{slug(inbox.name)}; nothing was installed",
                remedy=f"give it a name of its own in nights.toml, and install that:\n"
                f"  [inbox.NAME]\n  place = {_text(inbox.place)}",
            )


def _own_zone() -> str:
    name = name_of(read_zone(None))
    if name == "local":
        raise BadInput(
            "the time zone of this machine has no name; nothing was installed",
            remedy=f"name it: {again_with('--timezone', 'Europe/Berlin')}",
        )
    return name


def _deploy(
    args: Namespace,
    settings: Settings,
    jobs: list[Job],
    server: PrefectAddress,
    more: Mapping[str, str],
) -> Mapping[str, Any]:
    """Write the Prefect file and deploy it."""
    folder, written = Path.cwd(), settings.home / "nights.prefect.yaml"
    is_kept = server.url == prefect_kept(settings.home)
    usual = pool_of(settings, environment=environment_of(args.profile, folder), shared=not is_kept)
    pool = args.pool or usual
    text = deployment_file(jobs, file=written, folder=folder, pool=pool, more=more)
    with whole_file(written) as out:
        out.write(text.encode())
    deploy(written, at=server, folder=folder, pool=pool)
    worker = join(
        [sys.executable, "-P", "-m", "callsheet.deployments.prefect_worker", "--pool", pool]
    )
    if is_kept:
        # Prefect's own settings do not name the server of `callsheet up`.
        worker = f"PREFECT_API_URL={quote(server.url)} {worker}"
    told = [*map(_when, jobs), f"deployed on {server.url} from {written}, to run in {folder}"]
    if is_kept and pool == usual:
        told.append("the Prefect worker of `callsheet up` runs them")
    else:
        told += ["a Prefect worker runs them, with the settings that a run needs:", f"  {worker}"]
    _print(args, told)
    names = [job.name for job in jobs]
    return {"prefect": server.url, "deployments": names, "written": str(written), "worker": worker}


def _lines(
    args: Namespace, settings: Settings, jobs: list[Job], more: Mapping[str, str]
) -> Mapping[str, Any]:
    """Print the lines to paste."""
    folder, found = Path.cwd(), settings_in_environment()
    shown = {name: value for name, value in found.items() if not _is_secret(name, value)}
    secret = sorted(found.keys() - shown.keys())
    options = [*chain(*((f"--{name}", value) for name, value in more.items()))]
    told: list[str] = []
    lines: list[Mapping[str, Any]] = []
    for job in jobs:
        cron = crontab_lines(
            (*_program(), *job.words, *options),
            cron=job.cron,
            zone=job.zone,
            folder=folder,
            log=settings.home / f"callsheet-{job.name}.log",
            settings=shown,
        )
        lacking = _variables(job.inbox)
        lines.append({"name": job.name, "cron": cron, "variables": lacking})
        told += [
            _when(job),
            "  cron (`crontab -e`; a cron without CRON_TZ uses the machine's time zone):",
            *(f"    {line}" for line in cron),
        ]
        if lacking:
            told += [
                f"  they do not have {', '.join(lacking)}, which the addresses of nights.toml "
                "name:",
                "  set it above the line, or write the address as file:PATH",
            ]
    told += [
        f"They start in {folder} with the ledger {shown_address(ledger_url(settings.ledger))}",
        "and need the same settings as a run: a login or a profile.",
    ]
    if secret:
        told += [
            f"These lines do not contain {', '.join(secret)} of this shell.",
            "Log in with `callsheet login`, or give a profile: --profile NAME.",
        ]
    _print(args, told)
    return {"lines": lines, "settings": sorted(shown), "secrets": secret}


def _print(args: Namespace, lines: list[str]) -> None:
    console = console_for(args)
    for line in lines:
        # At a narrow terminal a line stays whole, or what is copied from it never starts.
        console.print(plain(line), soft_wrap=line.startswith("  "))


def _variables(inbox: Inbox) -> list[str]:
    """Return the environment variables that hold an inbox's addresses."""
    addresses = {*inbox.notify, *chain(*inbox.notify_of.values()), inbox.ping or ""}
    return sorted(one.removeprefix("env:") for one in addresses if one.startswith("env:"))


def _program() -> tuple[str, ...]:
    """Return the full path of this command, because cron has almost no PATH."""
    beside = Path(sys.executable).with_name("callsheet")
    found = str(beside) if beside.exists() else shutil.which("callsheet")
    return (found,) if found else (sys.executable, "-P", "-m", "callsheet.deployments.cli")


def _when(job: Job) -> str:
    coming = say_moment(job.next_due(), zone=read_zone(job.inbox.timezone))
    return f"{job.name}: {job.cron} {job.zone}, next {coming}"


# Stores a schedule in `nights.toml` and keeps everything else in it, including comments.


def write_terms(file: Path, inbox: Inbox, terms: Mapping[str, str]) -> bool:
    """Store terms of an inbox in a file, created if needed; return whether it changed.

    Raise ConfigurationError if the file lists the inbox in a form that cannot be edited.
    """
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    # A folder next to the file is stored as a relative path, so that you can move both.
    beside = Path(inbox.place)
    if not inbox.is_bucket and beside.is_relative_to(file.parent):
        inbox = replace(inbox, place=beside.relative_to(file.parent).as_posix())
    changed = with_terms_of(text, inbox, terms)
    if changed == text:
        return False
    if not _says(changed, inbox.name, terms):
        said = ", ".join(f"{name} = {_text(value)}" for name, value in terms.items())
        raise ConfigurationError(
            f"{file} lists {inbox.name} in a form that cannot be edited",
            remedy=f"add it to the file yourself: {said}",
        )
    with whole_file(file) as out:
        out.write(changed.encode())
    return True


def _says(text: str, name: str, terms: Mapping[str, str]) -> bool:
    """Whether a file with this text gives an inbox these terms."""
    try:
        found = tomllib.loads(text).get("inbox", {}).get(name, {})
    except tomllib.TOMLDecodeError:
        return False
    return all(found.get(one) == value for one, value in terms.items())


def with_terms_of(text: str, inbox: Inbox, terms: Mapping[str, str]) -> str:
    """Return the text of `nights.toml` with these terms; a new inbox is appended."""
    key = inbox.name if re.fullmatch(r"[\w-]+", inbox.name, re.ASCII) else _text(inbox.name)
    keys = "|".join(map(re.escape, {inbox.name, _text(inbox.name)}))
    head = re.search(rf"^[ \t]*\[\s*inbox\s*\.\s*(?:{keys})\s*\][^\n]*\n?", text, re.MULTILINE)
    if head is None:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        text = f"{text}{gap}[inbox.{key}]\nplace = {_text(inbox.place)}\n"
        return text + "".join(f"{name} = {_text(value)}\n" for name, value in terms.items())
    following = re.compile(r"^\s*\[", re.MULTILINE).search(text, head.end())
    end = following.start() if following else len(text)
    table, new = text[head.end() : end], ""
    for name, value in terms.items():
        line = f"{name} = {_text(value)}\n"
        told = re.search(rf"^[ \t]*{name}[ \t]*=[^\n]*\n?", table, re.MULTILINE)
        if told is None:
            new += line
        else:
            table = table[: told.start()] + line + table[told.end() :]
    return text[: head.end()] + new + table + text[end:]


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
