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
import time
import tomllib
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import join, quote
from typing import Any

from rich.console import Console

from callsheet.deployments.commands.options import settings_of
from callsheet.deployments.nights.overview import file_of, named_inboxes
from callsheet.deployments.nights.schedules import (
    Job,
    NightDeployment,
    crontab_lines,
    deploy,
    deployment_file,
)
from callsheet.deployments.prefect_address import REMEDY, PrefectAddress, ServerAnswer
from callsheet.deployments.servers import prefect_of
from callsheet.deployments.terminal import console_for, plain, print_json, say_moment
from callsheet.deployments.up.deploy import pool_of
from callsheet.deployments.up.programs import environment_of
from callsheet.deployments.up.up_file import prefect_kept
from callsheet.tasks.ledger.database import ledger_url, shown_address
from callsheet.tasks.nights.calendar import check_schedule, name_of, next_due, read_zone
from callsheet.tasks.nights.inboxes import FILES, Inbox, listed_inboxes
from callsheet.tasks.notices.addresses import with_stored
from callsheet.tasks.runtime.errors import BadInput, ConfigurationError
from callsheet.tasks.runtime.home import make_home
from callsheet.tasks.runtime.known_settings import SECRETS, Settings
from callsheet.tasks.runtime.redact import say
from callsheet.tasks.runtime.settings import PREFIX, settings_in_environment
from callsheet.tasks.runtime.suggest import again_with

#: The variable that names the ledger.
LEDGER = f"{PREFIX}LEDGER"
#: Dotted paths of the flows.
NIGHTLY, DIGEST = "callsheet.flows.nightly.sweep_inbox", "callsheet.flows.nightly.tell_digest"


@dataclass(frozen=True, kw_only=True)
class Start:
    """A scheduled job of an inbox: its nightly run or its digest."""

    name: str
    inbox: Inbox
    entrypoint: str
    words: tuple[str, ...]
    cron: str
    about: str


async def install(args: Namespace) -> int:
    """Schedule nightly runs with the Prefect server, or print lines for cron."""
    settings, folder = settings_of(args), Path.cwd()
    if args.without_prefect or prefect_of(settings.home) is None:
        _check_ledger()
    file, inboxes = _scheduled(args, settings)
    make_home(settings.home)
    starts = [start for inbox in inboxes for start in _starts(with_stored(inbox, settings.home))]
    server = None if args.without_prefect else prefect_of(settings.home)
    if server is not None:
        await asyncio.to_thread(_check, server)
    document: dict[str, Any] = {"folder": str(folder), "file": str(file)}
    # A file in a default location is not named.
    named = None if file.parent in (folder, folder / "configs") and not args.nights else file
    if server is not None:
        document |= await _deploy(args, settings, starts, server, folder=folder, file=named)
    else:
        document |= _lines(args, settings, starts, folder=folder, file=named)
    document["nights"] = [_coming(inbox) for inbox in inboxes]
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
    named = file_of(args, settings)
    there = next((one for one in FILES if one.is_file()), None)
    file = (named or there or FILES[0]).absolute()
    said = {"cron": args.cron, "timezone": args.timezone}
    terms = {name: value for name, value in said.items() if value is not None}
    found = [_named(inbox) for inbox in named_inboxes(args, settings, args.inboxes)]
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


def slug(name: str) -> str:
    """Return a name that is valid for deployments and files."""
    return re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII).strip("-.") or "inbox"


def _own_zone() -> str:
    name = name_of(read_zone(None))
    if name == "local":
        raise BadInput(
            "the time zone of this machine has no name; nothing was installed",
            remedy=f"name it: {again_with('--timezone', 'Europe/Berlin')}",
        )
    return name


def _starts(inbox: Inbox) -> list[Start]:
    assert inbox.cron is not None, "it is scheduled"
    night = Start(
        name=f"nightly-{slug(inbox.name)}",
        inbox=inbox,
        entrypoint=NIGHTLY,
        words=("nightly", inbox.name),
        cron=inbox.cron,
        about=f"The sheets of {inbox.name} become videos",
    )
    if inbox.digest_at is None or not (inbox.notify or inbox.notify_of):
        return [night]
    hour, _, minute = inbox.digest_at.partition(":")
    digest = Start(
        name=f"digest-{slug(inbox.name)}",
        inbox=inbox,
        entrypoint=DIGEST,
        words=("nights", "digest", inbox.name),
        cron=f"{int(minute or 0)} {int(hour)} * * *",
        about=f"Digests of the nightly runs of {inbox.name}",
    )
    return [night, digest]


async def _deploy(
    args: Namespace,
    settings: Settings,
    starts: Sequence[Start],
    server: PrefectAddress,
    *,
    folder: Path,
    file: Path | None,
) -> Mapping[str, Any]:
    """Write the Prefect file and deploy it."""
    said = {"nights": file, "profile": args.profile}
    parameters = {name: str(value) for name, value in said.items() if value}
    found = [
        NightDeployment(
            name=start.name,
            entrypoint=start.entrypoint,
            about=start.about,
            cron=start.cron,
            timezone=_zone(start.inbox),
            parameters={"inbox": start.inbox.name, **parameters},
        )
        for start in starts
    ]
    is_kept = server.url == prefect_kept(settings.home)
    usual = pool_of(settings, environment=environment_of(args.profile, folder), shared=not is_kept)
    pool = args.pool or usual
    written = settings.home / "nights.prefect.yaml"
    text = deployment_file(found, file=written, folder=folder, pool=pool)
    written.write_text(text, "utf-8")
    await asyncio.to_thread(deploy, written, at=server, folder=folder, pool=pool)
    console = console_for(args)
    for start in starts:
        console.print(plain(f"{start.name}: {_when(start)}"))
    console.print(plain(f"deployed on {server.url} from {written}, to run in {folder}"))
    worker = join(
        [sys.executable, "-P", "-m", "callsheet.deployments.prefect_worker", "--pool", pool]
    )
    if is_kept:
        # Prefect's own settings do not name the server of `callsheet up`.
        worker = f"PREFECT_API_URL={quote(server.url)} {worker}"
    if is_kept and pool == usual:
        console.print(plain("the Prefect worker of `callsheet up` runs them"))
    else:
        console.print(plain("a Prefect worker runs them, with the settings that a run needs:"))
        console.print(plain(f"  {worker}"), soft_wrap=True)
    names = [start.name for start in starts]
    return {"prefect": server.url, "deployments": names, "written": str(written), "worker": worker}


def _lines(
    args: Namespace,
    settings: Settings,
    starts: Sequence[Start],
    *,
    folder: Path,
    file: Path | None,
) -> Mapping[str, Any]:
    """Print the lines to paste."""
    said = {"--nights": file, "--profile": args.profile}
    more = [word for name, value in said.items() if value for word in (name, str(value))]
    found = settings_in_environment()
    shown = {name: value for name, value in found.items() if not _is_secret(name, value)}
    secret = sorted(found.keys() - shown.keys())
    console, told = console_for(args), []
    for start in starts:
        job = Job(
            words=(*_program(), *start.words, *more),
            folder=folder,
            log=settings.home / f"callsheet-{start.name}.log",
            settings=shown,
            cron=start.cron,
            timezone=_zone(start.inbox),
        )
        cron, lacking = crontab_lines(job), _variables(start.inbox)
        told.append({"name": start.name, "cron": cron, "variables": lacking})
        _show_lines(console, start, cron)
        if lacking:
            words = (
                f"  they do not have {', '.join(lacking)}, which the addresses of nights.toml name:"
            )
            console.print(plain(words))
            console.print(plain("  set it above the line, or write the address as file:PATH"))
    ledger = shown_address(ledger_url(settings.ledger))
    console.print(plain(f"They start in {folder} with the ledger {ledger}"))
    console.print(plain("and need the same settings as a run: a login or a profile."))
    if secret:
        console.print(plain(f"These lines do not contain {', '.join(secret)} of this shell."))
        console.print(plain("Log in with `callsheet login`, or give a profile: --profile NAME."))
    return {"lines": told, "settings": sorted(shown), "secrets": secret}


def _variables(inbox: Inbox) -> list[str]:
    """Return the environment variables that hold an inbox's addresses."""
    addresses = [*inbox.notify, *(one for those in inbox.notify_of.values() for one in those)]
    if inbox.ping:
        addresses.append(inbox.ping)
    return sorted({one.removeprefix("env:") for one in addresses if one.startswith("env:")})


def _show_lines(console: Console, start: Start, cron: Sequence[str]) -> None:
    console.print(plain(f"{start.name}: {_when(start)}"))
    head = "cron (`crontab -e`; a cron without CRON_TZ uses the machine's time zone)"
    console.print(plain(f"  {head}:"))
    for line in cron:
        # At a narrow terminal a line stays whole, or what is copied from it never starts.
        console.print(plain(f"    {line}"), soft_wrap=True)


def _program() -> tuple[str, ...]:
    """Return the full path of this command, because cron has almost no PATH."""
    beside = Path(sys.executable).with_name("callsheet")
    found = str(beside) if beside.exists() else shutil.which("callsheet")
    return (found,) if found else (sys.executable, "-P", "-m", "callsheet.deployments.cli")


def _zone(inbox: Inbox) -> str:
    return name_of(read_zone(inbox.timezone))


def _when(start: Start) -> str:
    zone = start.inbox.timezone
    coming = next_due(time.time(), cron=start.cron, timezone=zone)
    return f"{start.cron} {_zone(start.inbox)}, next {say_moment(coming, zone=read_zone(zone))}"


def _coming(inbox: Inbox) -> Mapping[str, Any]:
    assert inbox.cron is not None, "it is scheduled"
    coming = next_due(time.time(), cron=inbox.cron, timezone=inbox.timezone)
    return {
        "inbox": inbox.name,
        "cron": inbox.cron,
        "timezone": _zone(inbox),
        "next_at": coming,
    }


# Stores a schedule in `nights.toml` and keeps everything else in it, including comments.


#: Between the head of a table and the next one.
_HEAD = re.compile(r"^\s*\[")


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
    written = tomllib.loads(changed).get("inbox", {}).get(inbox.name, {})
    if any(written.get(name) != value for name, value in terms.items()):
        said = ", ".join(f"{name} = {json.dumps(value)}" for name, value in terms.items())
        raise ConfigurationError(
            f"{file} lists {inbox.name} in a form that cannot be edited",
            remedy=f"add it to the file yourself: {said}",
        )
    new = file.with_name(f".{file.name}.new")
    new.write_text(changed, encoding="utf-8")
    new.replace(file)
    return True


def with_terms_of(text: str, inbox: Inbox, terms: Mapping[str, str]) -> str:
    """Return the text of `nights.toml` with these terms; a new inbox is appended."""
    said = {
        name: f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in terms.items()
    }
    lines = text.splitlines(keepends=True)
    heads = {f"[inbox.{inbox.name}]", f"[inbox.{json.dumps(inbox.name)}]"}
    start = next((n for n, line in enumerate(lines) if _head(line) in heads), None)
    if start is None:
        place = f"place = {_text(inbox.place)}\n"
        gap = "" if not lines else "\n" if lines[-1].endswith("\n") else "\n\n"
        return f"{text}{gap}[inbox.{_key(inbox.name)}]\n{place}{''.join(said.values())}"
    end = next((n for n in range(start + 1, len(lines)) if _HEAD.match(lines[n])), len(lines))
    for n in range(start + 1, end):
        name = lines[n].partition("=")[0].strip()
        if name in said:
            lines[n] = said.pop(name)
    return "".join([*lines[: start + 1], *said.values(), *lines[start + 1 :]])


def _head(line: str) -> str:
    """Return a table header without spaces and comments."""
    return re.sub(r"\s", "", line.partition("#")[0])


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else _text(name)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
