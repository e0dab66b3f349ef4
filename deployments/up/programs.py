"""The programs of `callsheet up`: how each starts, when it is ready, where its log is."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

from callsheet.deployments.prefect_address import PrefectAddress
from callsheet.deployments.process import origin_of
from callsheet.deployments.servers import SERVER, server_environ, server_words
from callsheet.deployments.up.deploy import ask_prefect, pool_of
from callsheet.deployments.up.orphans import VARIABLE
from callsheet.tasks.runtime.known_settings import Settings

# The parts that `callsheet up` keeps up: how each is started, and how it is known that it is up.
#
# Prefect's are Prefect's own commands, ours are the commands that a person would type.


#: How often the Prefect worker asks for flow runs that are due, in seconds.
WORKER_ASKS = 3
#: What of the environment is meant for another server than the one that is kept up.
OF_ANOTHER_SERVER = ("PREFECT_API_", "PREFECT_SERVER_", "PREFECT_PROFILE")
#: What of it is not the server's business.
NOT_THE_SERVERS = ("CALLSHEET_", "NOTIFY_SOCKET")
#: What shows of each part that it answers: a page that asks for no login, nor for the ledger.
PAGES = {"prefect": "/api/health", "board": "/live", "receiver": "/health", "sandbox": "/api/v1"}
#: How long such a page may take, in seconds.
WITHIN = 10.0
PREFECT_FILE = Path(__file__).parents[1] / "prefect.yaml"


@dataclass(frozen=True, kw_only=True)
class Program:
    """One part: a module and its arguments, what it needs first, and what shows that it is up.

    It is up once it `says` so in a line of JSON, or once `answers` says so, which is given the
    moment it was started; what is to be done `once` is up when it has ended well.
    """

    name: str
    words: tuple[str, ...]
    environ: Mapping[str, str]
    needs: tuple[str, ...] = ()
    address: str | None = None
    says: bool = False
    #: Of its log only lines that begin so are shown; the rest is for those who look there.
    shows: re.Pattern[str] | None = None
    once: bool = False
    #: The address, on this machine, of a page that it answers as long as it does not hang.
    page: str | None = None
    #: What it listens on: bound here, so that nobody else can have the port first or meanwhile.
    listening: socket.socket | None = field(default=None, repr=False, compare=False)
    answers: Callable[[float], bool] | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the programs of one `up` have in common; `api` is Prefect's, where there is one.

    `is_trial` says that the service is a sandbox.
    """

    settings: Settings
    folder: Path
    mark: str
    profile: str | None = None
    is_trial: bool = False
    api: str | None = None
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """Where Callsheet keeps what is its own."""
        return self.settings.home

    @property
    def pool(self) -> str:
        """The work pool of the deployments and the worker."""
        return pool_of(self.settings, environment=self.environment, shared=self.api is None)

    @property
    def history(self) -> Path:
        """Where Prefect keeps what it knows, what is scheduled among it.

        A sandbox has one of its own: a flow run that was to cost nothing is approved for good, and
        the Prefect worker of the next `up` would have it paid for.
        """
        return self.home / ("prefect-sandbox" if self.is_trial else "prefect")

    @property
    def environment(self) -> str:
        """What this one is called among others on the same server: profile, sandbox or folder."""
        return "sandbox" if self.is_trial else environment_of(self.profile, self.folder)

    def environ(self, **own: str) -> dict[str, str]:
        """Return the environment of a program of ours, which leads to the server kept up."""
        inherited = dict(os.environ)
        inherited.pop("NOTIFY_SOCKET", None)
        found = {
            **inherited,
            VARIABLE: self.mark,
            "PWD": str(self.folder),
            # A folder called `tasks` beside somebody's sheets is not ours.
            "PYTHONSAFEPATH": "1",
            # What is written goes into files.
            "NO_COLOR": "1",
            "COLUMNS": "160",
        }
        if self.profile:
            found["CALLSHEET_PROFILE"] = self.profile
        if self.api:
            found = {n: v for n, v in found.items() if not n.startswith(OF_ANOTHER_SERVER)}
            found |= {
                "PREFECT_HOME": str(self.history),
                "PREFECT_API_URL": self.api,
                "PREFECT_LOGGING_COLORS": "false",
                "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",
                "DO_NOT_TRACK": SERVER["DO_NOT_TRACK"],
            }
            if said := auth_string():
                found["PREFECT_API_AUTH_STRING"] = said
        return {**found, **self.more, **own}


def environment_of(profile: str | None, folder: Path) -> str:
    """Return what tells one environment from others on the same server."""
    return profile or folder.name


def auth_string() -> str | None:
    """Return the `user:password` that the server is to ask for, if somebody set one."""
    return os.environ.get("PREFECT_SERVER_API_AUTH_STRING") or None


def prefect_server(around: Surroundings, listening: socket.socket) -> Program:
    """Return Prefect's server, on this machine alone, with its history under `.callsheet/`."""
    home = around.history
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    origin = origin_of(listening)
    port = listening.getsockname()[1]
    environ = {
        **around.environ(),
        **server_environ(home, f"{origin}/api"),
        "PREFECT_API_BLOCKS_REGISTER_ON_START": "true",
        # It would write its pages where it is installed, which may be nobody's to write to.
        "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(home / "pages"),
        # Pages of others, open in the same browser, start no flow run here.
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": f"{origin},http://localhost:{port}",
        # Prefect's files in the folder that people work in are for the servers they name.
        "PWD": str(home),
    }
    environ = {name: v for name, v in environ.items() if not name.startswith(NOT_THE_SERVERS)}
    if said := auth_string():
        environ["PREFECT_SERVER_API_AUTH_STRING"] = said
    return Program(
        name="prefect",
        words=("-m", *server_words(listening)),
        listening=listening,
        environ=environ,
        address=origin,
        # Not its tracebacks, which fill a screen for a heartbeat that came too late.
        shows=re.compile(r"\d\d:\d\d:\d\d\.\d+ \|"),
        page=f"{origin}{PAGES['prefect']}",
        answers=lambda _: is_answering(f"{origin}{PAGES['prefect']}"),
    )


def deployments(around: Surroundings) -> Program:
    """Return what tells the server of the work pool and of every deployment of `prefect.yaml`.

    It needs the server, and waits for that by itself: meanwhile it imports what it deploys.
    """
    note = around.home / "up" / ("deployed-sandbox" if around.is_trial else "deployed")
    return Program(
        name="deployments",
        words=("-m", "callsheet.deployments.up.deploy", str(PREFECT_FILE), str(note), around.pool),
        environ=around.environ(),
        once=True,
    )


def worker(around: Surroundings, at: PrefectAddress, *, needs: tuple[str, ...]) -> Program:
    """Return the Prefect worker, which carries flow runs as processes of this machine."""
    # On a server that several use, it is told apart from that of another folder or environment.
    name = f"callsheet-{socket.gethostname()}-{around.environment}"
    start = ("-m", "callsheet.deployments.prefect_worker", "--pool", around.pool)
    words = (*start, "--type", "process", "--name", name, "--install-policy", "never")
    # Of a server that others reach as well, nobody knows here who carries what.
    first = ("-m", "callsheet.deployments.up.worker", around.pool) if around.api else ()
    return Program(
        name="worker",
        words=(*first, *words),
        environ=around.environ(PREFECT_WORKER_QUERY_SECONDS=str(WORKER_ASKS)),
        needs=needs,
        answers=lambda since: _is_known(at, around.pool, name, since),
    )


def board(
    around: Surroundings, host: str, listening: socket.socket, *, more: tuple[str, ...]
) -> Program:
    """Return the board; `more` are options of `callsheet board`."""
    where = ("--host", host, "--fd", str(listening.fileno()))
    return Program(
        name="board",
        words=("-m", "callsheet.deployments.cli", "board", "--json", *where, *more),
        environ=around.environ(),
        says=True,
        # Not the address that it says, which may be that of a proxy.
        page=f"{origin_of(listening)}{PAGES['board']}",
        listening=listening,
    )


def receiver(around: Surroundings, listening: socket.socket, *, tells_prefect: bool) -> Program:
    """Return the receiver of webhooks; `tells_prefect` has flow runs carry on what it hears of.

    Where it listens is a setting of its own, which `around` has.
    """
    more = {"CALLSHEET_PREFECT_EVENTS": "yes"} if tells_prefect else {}
    where = ("--fd", str(listening.fileno()))
    return Program(
        name="receiver",
        words=("-m", "callsheet.deployments.cli", "receive", "--json", *where),
        environ=around.environ(**more),
        says=True,
        page=f"{origin_of(listening)}{PAGES['receiver']}",
        listening=listening,
    )


def sandbox(around: Surroundings, listening: socket.socket, *, time_scale: str) -> Program:
    """Return the sandbox, in the place of the video service."""
    state = around.home / "sandbox"
    where = ("--fd", str(listening.fileno()), "--json", "--state", str(state))
    words = ("-m", "callsheet.deployments.sandbox", *where)
    return Program(
        name="sandbox",
        words=(*words, "--allow-loopback-webhooks", "--time-scale", time_scale),
        environ=around.environ(),
        says=True,
        page=f"{origin_of(listening)}{PAGES['sandbox']}",
        listening=listening,
    )


def is_answering(url: str) -> bool:
    """Whether something answers there that is not in trouble."""
    status = _status(url, within=2)
    return status is not None and status < 500


def is_there(url: str, within: float) -> bool:
    """Whether anything answers there at all within so many seconds, however it is."""
    return _status(url, within=within) is not None


def _status(url: str, *, within: float) -> int | None:
    # A proxy of the environment does not lead to this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=within) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except (OSError, HTTPException, ValueError):
        return None


def _is_known(at: PrefectAddress, pool: str, name: str, since: float) -> bool:
    """Whether the server has heard of the Prefect worker since it was started."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(since))
    heard = {"last_heartbeat_time": {"after_": moment}}
    try:
        found = ask_prefect(at, f"work_pools/{pool}/workers/filter", {"workers": heard})
    except OSError:
        return False
    return any(one.get("name") == name for one in found)


# The logs of what is kept up: each part writes into a file of its own, which is read from here.
#
# Files, not pipes: a part goes on whatever becomes of whoever reads it, and what it said last is
# there when it is asked for. A file that has grown large begins anew, and the one before it is
# kept.


#: Bytes of a log until it begins anew.
LARGEST = 10_000_000
#: Bytes of it that are read in one go, and in which its last words are looked for.
PIECE = 64 * 1024
#: Lines that count as last words.
LAST = 5


class Log:
    """The log of one part; what was there before is not read again."""

    def __init__(self, path: Path, *, largest: int = LARGEST) -> None:
        self.path = path
        self._largest = largest
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        self._read = self.size()

    def size(self) -> int:
        """Return how many bytes it has; none where somebody has taken it away."""
        with contextlib.suppress(FileNotFoundError):
            return self.path.stat().st_size
        return 0

    def new_lines(self) -> Iterator[str]:
        """Yield the whole lines that came since the last time."""
        with self.path.open("rb") as file:
            # Somebody may have taken it away, and whoever writes has begun another.
            self._read = self._read if self._read <= self.size() else 0
            file.seek(self._read)
            while piece := file.read(PIECE):
                # Half a line waits for its other half, unless it is longer than a piece.
                whole = piece.rfind(b"\n") + 1 or (len(piece) if len(piece) == PIECE else 0)
                if not whole:
                    break
                self._read += whole
                file.seek(self._read)
                yield from piece[:whole].decode(errors="replace").splitlines()
        if self._read > self._largest:
            self._begin_anew()

    def _begin_anew(self) -> None:
        # Whoever writes appends, wherever the end is.
        with contextlib.suppress(OSError):
            shutil.copyfile(self.path, self.path.with_suffix(".log.1"))
            with self.path.open("r+b") as file:
                file.truncate(0)
            self._read = 0


def last_words(path: Path, count: int = LAST, *, since: int = 0) -> list[str]:
    """Return the last lines of a log that say anything, of those `since` so many bytes."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            # It may have begun anew since.
            file.seek(max(since if since <= size else 0, size - PIECE))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return []
    return [line.rstrip() for line in lines if line.strip()][-count:]
