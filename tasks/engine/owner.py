"""Who owns a lease: a process, named so that another one can tell whether it is still alive.

An owner is `host:pid:started:place:count`. The place is the boot of the kernel and the namespace
of process ids: containers that share a host name have the same numbers for other processes. Of an
owner in another place, or where the kernel does not say, nothing is known: its lease has to lapse.
Workers that process a campaign together own it as `workers:production`, and none of them by itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
from functools import cache
from pathlib import Path

#: Begins the owner of a campaign that is processed by several.
_WORKERS = "workers"


def this_process() -> str:
    """Return what names this process among all that may share the ledger."""
    pid = os.getpid()
    # A colon parts the fields; a host has none in its name, but may be called by an address.
    return f"{_host()}:{pid}:{_started(pid)}:{_place()}"


def its_workers(production: str) -> str:
    """Return what names a campaign's workers, of which no one knows where they are."""
    return f"{_WORKERS}:{production}"


def name_of(owner: str | None) -> str:
    """Return an owner for people."""
    if owner is not None and owner.startswith(f"{_WORKERS}:"):
        return "its workers"
    host, _, rest = (owner or "").partition(":")
    return f"process {rest.partition(':')[0]} on {host}" if rest else "nobody any more"


def is_at_work(owner: str | None) -> bool:
    """Whether the owner of a lease that has not lapsed may be at work: its process is not dead."""
    return owner is not None and not is_dead(owner)


def is_dead(owner: str) -> bool:
    """Whether the owner's process is known to be gone, or to be another one by now."""
    fields = owner.split(":")
    if len(fields) != 5 or not fields[1].isdecimal():
        return False
    host, number, started, place, _ = fields
    if host != _host() or not place or place != _place():
        return False
    pid = int(number)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return bool(started) and _started(pid) != started


def is_near(owner: str) -> bool:
    """Whether the owner's process could be seen from here: one that is not dead then lives."""
    fields = owner.split(":")
    return len(fields) == 5 and fields[0] == _host() and fields[3] == _place() != ""


def _host() -> str:
    return socket.gethostname().replace(":", "-")


@cache
def _place() -> str:
    """Return boot and namespace; empty where one of them is not known."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
        namespace = re.sub(r"\D", "", os.readlink("/proc/self/ns/pid"))
        if boot and namespace:
            return f"{boot}/{namespace}"
    return ""


def _started(pid: int) -> str:
    """Return when a process began, in the kernel's ticks; empty where the kernel does not say."""
    with contextlib.suppress(OSError, IndexError):
        # The name in field 2 may hold spaces and brackets: count from the last bracket.
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[19]
    return ""
