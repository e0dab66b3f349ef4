"""`callsheet up`: Prefect, a Prefect worker, the deployments, the board and the receiver, until
stopped.

What each part is stands in `deployments.up.programs`, which are wanted in `.wanted`, how they are
kept up in `.supervisor`.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
import time
from argparse import Namespace
from contextlib import suppress
from functools import partial
from pathlib import Path

from rich.console import Console

from callsheet.deployments.commands.options import settings_of
from callsheet.deployments.new_ledger import prepare_ledger
from callsheet.deployments.process import on_signal, run_command
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.deployments.up.orphans import end_leftovers
from callsheet.deployments.up.output import (
    ready_document,
    status_of,
    tell_ready,
    tell_status,
    tell_systemd,
    ways_in,
)
from callsheet.deployments.up.parts import PARTS, Parts, WantedParts
from callsheet.deployments.up.supervisor import Supervisor
from callsheet.deployments.up.up_file import (
    UpAlready,
    WhatIsUp,
    holder,
    holding,
    last_up,
    what_is_up,
)
from callsheet.tasks.runtime.errors import CallsheetError, ConfigurationError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.logs import logs_json, pass_on
from callsheet.tasks.runtime.redact import redact

#: How long `--down` waits for a clean end, and `up` for one that is starting, in seconds.
DOWN_LIMIT, READY_LIMIT = 60.0, 180.0
#: A colour a part, where there are colours.
COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "red")


def main(args: Namespace) -> int:
    """Keep everything up until told to stop; return 0. Raises CallsheetError for a part that dies.

    `--status` and `--down` ask the one that is at work; started again it says what is up.
    """
    if sys.platform == "win32":
        raise ConfigurationError(
            "`callsheet up` needs Linux or macOS",
            remedy="start the parts yourself: `callsheet board`, `callsheet receive`, and every "
            "night `callsheet nightly INBOX`",
        )
    settings, console = settings_of(args), console_for(args)
    if args.down:
        return _down(args, settings, console)
    if args.status:
        return _status(args, settings, console)
    prepare_ledger(settings, sandbox=args.sandbox)
    try:
        with holding(settings.home):
            run_command(_up(args, settings, console))
    except UpAlready:
        return _again(args, settings, console)
    return 0


async def _up(args: Namespace, settings: Settings, console: Console) -> None:
    if sys.platform == "win32":
        raise NotImplementedError
    if (before := last_up(settings.home)) is not None:
        # It was killed together with the process that ends what it leaves.
        await asyncio.to_thread(end_leftovers, before.mark)
    now = WhatIsUp(pid=os.getpid(), mark=secrets.token_hex(8), folder=str(Path.cwd()))
    watch = Supervisor(settings.home, now, partial(_tell, console))
    parts = Parts(_wanted(args), settings, watch, lambda words: console.print(plain(words)))
    with on_signal(watch.stop):
        try:
            if await parts.start(on_board=partial(_tell_board, watch, console)):
                watch.change(ready=True)
                await _tell_ready(args, settings, watch, console)
                tell_systemd("READY=1")
                watch.let_speak()
                await watch.ending
        finally:
            tell_systemd("STOPPING=1")
            console.print("stopping: what is under way ends in order; once more ends it now")
            watch.change(ready=False)
            await watch.end()


def _wanted(args: Namespace) -> WantedParts:
    return WantedParts(
        parts=frozenset(PARTS) - set(args.without),
        host=args.host,
        port=args.port,
        prefect_port=args.prefect_port,
        url=args.url,
        behind_proxy=args.behind_proxy,
        sandbox=(args.time_scale or "") if args.sandbox else None,
        profile=args.profile,
    )


def _tell_board(watch: Supervisor, console: Console) -> None:
    """Say where the board is before the rest is up: it is what people wait for."""
    where = watch.said("board").get("login") or watch.now.address("board")
    console.print(plain(f"the board is up: log in at {where}; the rest takes some seconds more"))


async def _tell_ready(
    args: Namespace, settings: Settings, watch: Supervisor, console: Console
) -> None:
    said = watch.said("board")
    ways = said.get("login"), said.get("token")
    if args.json:
        print_json(ready_document(watch.now, ways))
        sys.stdout.flush()
    tell_ready(console, watch.now, ways[0])
    if not args.sandbox and not settings.base_url:
        console.print(
            "no video service is configured: `callsheet login` gets a key for one, "
            "`callsheet up --sandbox` tries it all at no cost"
        )
    console.print(plain(f"press Ctrl+C to stop; the logs are in {settings.home / 'up'}"))
    if args.open and ways[0]:
        from callsheet.deployments.commands.board import open_browser

        await open_browser(ways[0])


def _tell(console: Console, part: str, line: str) -> None:
    """Show a line of a part, with the part before it; with JSON hand it on as it is."""
    if logs_json():
        pass_on(line, part=part)
        return
    known = ("sandbox", *PARTS)
    colour = COLOURS[known.index(part) % len(COLOURS)] if part in known else "white"
    console.print(f"[{colour}]{part:<12}|[/] {plain(redact(line))}")


def _again(args: Namespace, settings: Settings, console: Console) -> int:
    """Say where everything is that someone keeps up, once all of it is."""
    until = time.monotonic() + READY_LIMIT
    while (now := what_is_up(settings.home)) is not None and not now.ready:
        if time.monotonic() > until:
            raise CallsheetError(
                "another `callsheet up` is starting, and is not ready",
                remedy="`callsheet up --status` says how far each part is",
            )
        time.sleep(0.2)
    if now is None:
        raise CallsheetError("another `callsheet up` has just ended", remedy="start it again")
    ways = asyncio.run(ways_in(settings, now.address("board")))
    if args.json:
        print_json(ready_document(now, ways))
    tell_ready(console, now, ways[0])
    console.print("it was up already; `callsheet up --down` stops it")
    return 0


def _status(args: Namespace, settings: Settings, console: Console) -> int:
    """Say how each part is: 0 when all of them are well."""
    now = what_is_up(settings.home)
    if now is None:
        if args.json:
            print_json({"up": False, "parts": {}})
        console.print("nothing is up here; `callsheet up` starts it")
        return 1
    parts = status_of(now)
    well = now.ready and all(part["ok"] for part in parts.values())
    if args.json:
        token = _token(settings)
        document = {**ready_document(now, (None, token)), "pid": now.pid, "ready": now.ready}
        print_json({"up": True, "ok": well, **document, "parts": parts})
    console.print(plain(f"kept up by process {now.pid}" + ("" if now.ready else ", not ready")))
    tell_status(console, parts)
    return 0 if well else 1


def _token(settings: Settings) -> str | None:
    from callsheet.deployments.board.logins import kept_token

    return kept_token(settings.home / "board")


def _down(args: Namespace, settings: Settings, console: Console) -> int:
    """Stop what is up, and wait until nothing of it is left."""
    if sys.platform == "win32":
        raise NotImplementedError
    pid = holder(settings.home)
    was_up, until = pid is not None, time.monotonic() + DOWN_LIMIT
    if pid is not None:
        _send(pid, signal.SIGTERM)
    while (pid := holder(settings.home)) is not None:
        if time.monotonic() > until:
            _send(pid, signal.SIGKILL)
        time.sleep(0.1)
    now = last_up(settings.home)
    left = end_leftovers(now.mark) if now is not None else 0
    if args.json:
        print_json({"up": False, "was_up": was_up})
    console.print("all is down" if was_up or left else "nothing was up here")
    return 0


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
