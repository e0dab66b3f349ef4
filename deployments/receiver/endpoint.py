"""The socket that the receiver listens on, and what is said when it cannot be had."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import socket
import urllib.error
import urllib.request
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

from callsheet.deployments.process import listen_on
from callsheet.tasks.runtime.errors import ConfigurationError

#: Connections that the system holds until they are accepted; it may allow fewer.
BACKLOG = 1024


class AlreadyReceiving(ConfigurationError):
    """A receiver for the same ledger has the address: it receives for everybody."""


def split_address(text: str, setting: str = "CALLSHEET_RECEIVER") -> tuple[str, int]:
    """Read `host:port`, or `[::1]:port`; raise ConfigurationError for anything else."""
    host, colon, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    right = colon and bare and port.isascii() and port.isdecimal() and int(port) < 65536
    if not right or (":" in bare and bare == host):
        raise ConfigurationError(
            f'{setting} "{text}" is not an address to listen on; nothing was spent',
            remedy="write it like 127.0.0.1:8790",
        )
    return bare, int(port)


def name_of(ledger: str) -> str:
    """Return what tells one ledger from another without saying where it is."""
    file = ledger.removeprefix("sqlite:///")
    if file != ledger:
        ledger = str(Path(file).resolve())
    return hashlib.sha256(ledger.encode()).hexdigest()[:16]


async def listen(
    address: str, *, ledger: str, setting: str = "CALLSHEET_RECEIVER"
) -> socket.socket:
    """Return a socket that listens on `address`, as `setting` says; `ledger` is the name of ours.

    Raises ConfigurationError, which says who is there where that can be told;
    AlreadyReceiving when that is one of ours.
    """
    host, port = split_address(address, setting)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, _, _, _, place = found[0]
        return listen_on(family, place, backlog=BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise await _taken(address, host, port, ledger, setting) from None
        raise ConfigurationError(
            f"nothing can listen on {address}: {error.strerror}; nothing was spent",
            remedy=f"set {setting} to a host of this machine and a port that is free",
        ) from error


async def _taken(
    address: str, host: str, port: int, ledger: str, setting: str
) -> ConfigurationError:
    there = await asyncio.to_thread(who_is_there, host, port)
    if there is None:
        return ConfigurationError(
            f"another program has {address}, where {setting} says to listen; nothing was spent",
            remedy=f"stop that program, or set {setting} to a port that is free",
        )
    if there == ledger:
        return AlreadyReceiving(
            f"a Callsheet receiver for this ledger answers at {address} already; nothing was spent",
            remedy="leave it at work: one is enough for every run on the ledger",
        )
    return ConfigurationError(
        f"a Callsheet receiver for another ledger answers at {address}; nothing was spent",
        remedy="set CALLSHEET_RECEIVER to another port for this ledger, or stop that receiver",
    )


def who_is_there(host: str, port: int) -> str | None:
    """Return which ledger the Callsheet receiver there is for; None if it is no such thing."""
    anywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    name = anywhere.get(host, host)
    where = f"[{name}]" if ":" in name else name
    answer = answer_at(f"http://{where}:{port}/health", within=2)
    with suppress(ValueError):
        said = json.loads(answer[1]) if answer and answer[0] == 200 else None
        if isinstance(said, dict) and said.get("receiver") == "callsheet":
            return str(said.get("ledger"))
    return None


def answer_at(url: str, *, within: float) -> tuple[int, bytes] | None:
    """Return status and beginning of what a program of this machine answers within a timeout."""
    # A proxy of the environment does not lead to this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=within) as answer:
            return int(answer.status), answer.read(4096)
    except urllib.error.HTTPError as error:
        return error.code, b""
    except (OSError, HTTPException, ValueError):
        return None
