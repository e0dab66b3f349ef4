"""The output of `callsheet up`, and its messages to systemd."""

from __future__ import annotations

import contextlib
import os
import shlex
import socket
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from callsheet.deployments.terminal import plain
from callsheet.deployments.up.orphans import is_suspended
from callsheet.deployments.up.programs import PAGES, is_answering, last_words
from callsheet.deployments.up.up_file import KeptPart, WhatIsUp
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.values.amounts import count, say_duration

#: How long a printed login is valid, in seconds.
LOGIN = 3600.0


def ready_document(now: WhatIsUp, ways: tuple[str | None, str | None]) -> dict[str, Any]:
    """Return all addresses for programs; `ways` are a login and a token for the board."""
    prefect = now.address("prefect")
    return {
        "board": now.address("board"),
        "prefect": prefect,
        "prefect_api": prefect and f"{prefect}/api",
        "receiver": now.address("receiver"),
        "sandbox": now.sandbox and now.sandbox["base_url"],
        "token": ways[1],
        "login": ways[0],
    }


def tell_ready(console: Console, now: WhatIsUp, login: str | None) -> None:
    """Print all addresses."""
    console.print("all is up:")
    for name, part in now.parts.items():
        if part.state in ("up", "done"):
            console.print(plain(f"  {name:<12}{_of(name, part, now)}"))
    if now.sandbox is not None:
        console.print("commands here find the sandbox with --sandbox; for other programs:")
        for line in exports(now):
            console.print(plain(f"  {line}"), soft_wrap=True)
    if login:
        console.print(plain(f"log in once, within the hour, at {login}"))


def exports(now: WhatIsUp) -> list[str]:
    """Return shell lines that point programs to this sandbox and Prefect server."""
    sandbox, prefect = now.sandbox or {}, now.address("prefect")
    values = {
        "CALLSHEET_BASE_URL": sandbox.get("base_url"),
        "CALLSHEET_API_KEY": sandbox.get("api_key"),
        "CALLSHEET_SANDBOX": sandbox.get("sandbox"),
        "PREFECT_API_URL": prefect and f"{prefect}/api",
    }
    return [f"export {name}={shlex.quote(value)}" for name, value in values.items() if value]


def _of(name: str, part: KeptPart, now: WhatIsUp) -> str:
    words = {
        "prefect": f"{part.address}  (PREFECT_API_URL={part.address}/api)",
        "sandbox": f"{part.address}  (videos that cost nothing)",
        "deployments": f"those of prefect.yaml, on the work pool {now.pool}",
        "worker": f"runs flows in {now.folder}",
    }
    return words.get(name) or part.address or part.state


async def ways_in(settings: Settings, origin: str | None) -> tuple[str | None, str | None]:
    """Return a new one-time login and the first admin's token for the board, if any."""
    if origin is None:
        return None, None
    # This imports a part of the board.
    from callsheet.deployments.at import At
    from callsheet.deployments.board.logins import admin_token, new_login
    from callsheet.tasks.ledger.ledger import open_ledger

    async with await open_ledger(settings.ledger) as ledger:
        at = At(settings=settings, ledger=ledger, origin=origin)
        found = await admin_token(at)
        if found is None:
            return None, None
        return await new_login(at, found[0], lasts=LOGIN), found[1]


def status_of(now: WhatIsUp) -> dict[str, dict[str, Any]]:
    """Return the status of each part: state, whether it answers, and last errors."""
    return {name: _status(name, part) for name, part in now.parts.items()}


def _status(name: str, part: KeptPart) -> dict[str, Any]:
    page = PAGES.get(name)
    answers = None
    if part.state == "up" and part.address and page:
        answers = is_answering(f"{part.address}{page}")
    if part.state == "up" and part.pid is not None and is_suspended(part.pid):
        # The Prefect worker has no page to ask for.
        answers = False
    well = part.state in ("up", "done") and answers is not False
    trouble = not well and (part.restarts or answers is False)
    return {
        "state": part.state,
        "ok": well,
        "answers": answers,
        "address": part.address,
        "pid": part.pid,
        "restarts": part.restarts,
        "since": round(part.since),
        "log": part.log,
        "last": next(iter(last_words(Path(part.log), 1)), None) if trouble else None,
    }


def tell_status(console: Console, found: dict[str, dict[str, Any]]) -> None:
    """Print the status of each part, with its last lines if it has a problem."""
    for name, part in found.items():
        since = say_duration(max(1.0, time.time() - part["since"]))
        words = f"{part['state']} for {since}"
        if part["answers"] is False:
            # Whether it answers is asked now: when it stopped to, no one knows.
            words = f"does not answer, started {since} ago"
        again = f", started again {count(part['restarts'], 'time')}" if part["restarts"] else ""
        console.print(plain(f"  {name:<12}{words}{again}  {part['address'] or ''}"))
        if part["last"]:
            console.print(plain(f"  {'':<12}{part['last']}  ({part['log']})"))


# Notifies systemd, if it started this program with `Type=notify`.


def tell_systemd(words: str) -> None:
    """Send `READY=1` or `STOPPING=1`; do nothing without systemd."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address or sys.platform == "win32":
        return
    # An address that starts with @ is not a file.
    where = f"\0{address[1:]}" if address.startswith("@") else address
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        to.sendto(words.encode(), where)
