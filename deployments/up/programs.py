"""The programs of `callsheet up`: how each one starts, when it is ready, and its log.

Prefect's parts are Prefect's own commands; the others are the commands that you would type.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from callsheet.deployments.prefect_address import PrefectAddress
from callsheet.deployments.process import origin_of
from callsheet.deployments.receiver.endpoint import answer_at
from callsheet.deployments.servers import (
    SERVER,
    sandbox_words,
    server_environ,
    server_words,
)
from callsheet.deployments.up.deploy import pool_of
from callsheet.deployments.up.orphans import VARIABLE
from callsheet.tasks.runtime.known_settings import Settings

#: How often the Prefect worker asks for due flow runs, in seconds.
WORKER_ASKS = 3
#: Environment variables for another Prefect server.
OF_ANOTHER_SERVER = ("PREFECT_API_", "PREFECT_SERVER_", "PREFECT_PROFILE")
#: Environment variables that the server does not get.
NOT_THE_SERVERS = ("CALLSHEET_", "NOTIFY_SOCKET")
#: The page that shows that a part answers: it needs no login and no ledger.
PAGES = {"prefect": "/api/health", "board": "/live", "receiver": "/health", "sandbox": "/api/v1"}
#: Timeout of such a page, in seconds.
WITHIN = 10.0
PREFECT_FILE = Path(__file__).parents[1] / "prefect.yaml"


@dataclass(frozen=True, kw_only=True)
class Program:
    """One part: a module and its arguments, what it needs first, and how to check that it is up.

    It is up when it prints a line of JSON (`says`), or when `answers` returns true for its start
    time; a part that runs `once` is up when it has exited successfully.
    """

    name: str
    words: tuple[str, ...]
    environ: Mapping[str, str]
    needs: tuple[str, ...] = ()
    address: str | None = None
    says: bool = False
    #: Only log lines with this prefix are shown.
    shows: re.Pattern[str] | None = None
    once: bool = False
    #: Local address of a page that it answers unless it hangs.
    page: str | None = None
    #: Its socket: bound here, so that no other program can take the port.
    listening: socket.socket | None = field(default=None, repr=False, compare=False)
    answers: Callable[[float], bool] | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class UpContext:
    """What the programs of one `up` share; `api` is the address of Prefect, if there is one.

    `is_trial` means that the service is a sandbox.
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
        """The folder with Callsheet's files."""
        return self.settings.home

    @property
    def pool(self) -> str:
        """The work pool of the deployments and the Prefect worker."""
        return pool_of(self.settings, environment=self.environment, shared=self.api is None)

    @property
    def history(self) -> Path:
        """The folder with Prefect's database, including schedules.

        A sandbox has a separate one: its flow runs are approved, and the Prefect worker of the next
        `up` would pay for them.
        """
        return self.home / ("prefect-sandbox" if self.is_trial else "prefect")

    @property
    def environment(self) -> str:
        """The name of this environment on a shared server: profile, sandbox or folder."""
        return "sandbox" if self.is_trial else environment_of(self.profile, self.folder)

    def environ(self, **own: str) -> dict[str, str]:
        """Return the environment of a Callsheet program, with the address of Prefect."""
        inherited = dict(os.environ)
        inherited.pop("NOTIFY_SOCKET", None)
        found = {
            **inherited,
            VARIABLE: self.mark,
            "PWD": str(self.folder),
            # A folder named `tasks` next to the sheets is not part of Callsheet.
            "PYTHONSAFEPATH": "1",
            # Output goes to files.
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
    """Return the name of an environment on a shared server."""
    return profile or folder.name


def auth_string() -> str | None:
    """Return the `user:password` of the server, if one is set."""
    return os.environ.get("PREFECT_SERVER_API_AUTH_STRING") or None


def prefect_server(around: UpContext, listening: socket.socket) -> Program:
    """Return the Prefect server, local only, with its database under `.callsheet/`."""
    home = around.history
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    origin = origin_of(listening)
    port = listening.getsockname()[1]
    environ = {
        **around.environ(),
        **server_environ(home, f"{origin}/api"),
        "PREFECT_API_BLOCKS_REGISTER_ON_START": "true",
        # By default it writes its pages to the install folder, which may be read-only.
        "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(home / "pages"),
        # Other sites in the same browser must not start flow runs.
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": f"{origin},http://localhost:{port}",
        # Prefect's files in the working folder are for other servers.
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
        # Without tracebacks, which fill the screen after one late heartbeat.
        shows=re.compile(r"\d\d:\d\d:\d\d\.\d+ \|"),
        page=f"{origin}{PAGES['prefect']}",
        answers=lambda _: is_answering(f"{origin}{PAGES['prefect']}"),
    )


def deployments(around: UpContext) -> Program:
    """Return the part that creates the work pool and every deployment of `prefect.yaml`.

    It waits for the server by itself and imports the flows meanwhile.
    """
    note = around.home / "up" / ("deployed-sandbox" if around.is_trial else "deployed")
    return Program(
        name="deployments",
        words=("-m", "callsheet.deployments.up.deploy", str(PREFECT_FILE), str(note), around.pool),
        environ=around.environ(),
        once=True,
    )


def worker(around: UpContext, at: PrefectAddress, *, needs: tuple[str, ...]) -> Program:
    """Return the Prefect worker, which executes flow runs as local processes."""
    # A shared server needs a different name for each folder or environment.
    name = f"callsheet-{socket.gethostname()}-{around.environment}"
    start = ("-m", "callsheet.deployments.prefect_worker", "--pool", around.pool)
    words = (*start, "--type", "process", "--name", name, "--install-policy", "never")
    # On a shared server other machines may execute these flow runs.
    first = ("-m", "callsheet.deployments.up.worker", around.pool) if around.api else ()
    return Program(
        name="worker",
        words=(*first, *words),
        environ=around.environ(PREFECT_WORKER_QUERY_SECONDS=str(WORKER_ASKS)),
        needs=needs,
        answers=lambda since: _is_known(at, around.pool, name, since),
    )


def board(
    around: UpContext, host: str, listening: socket.socket, *, more: tuple[str, ...]
) -> Program:
    """Return the board; `more` are options of `callsheet board`."""
    words = ("callsheet.deployments.cli", "board", "--json", "--host", host, *more)
    return _listening(around, "board", listening, words)


def receiver(around: UpContext, listening: socket.socket, *, tells_prefect: bool) -> Program:
    """Return the webhook receiver; with `tells_prefect` it starts flow runs for events.

    Its address is a setting, which is in `around`.
    """
    more = {"CALLSHEET_PREFECT_EVENTS": "yes"} if tells_prefect else {}
    words = ("callsheet.deployments.cli", "receive", "--json")
    return _listening(around, "receiver", listening, words, **more)


def sandbox(around: UpContext, listening: socket.socket, *, time_scale: str) -> Program:
    """Return the sandbox, which replaces the video service."""
    words = sandbox_words(around.home / "sandbox", time_scale)
    return _listening(around, "sandbox", listening, words)


def _listening(
    around: UpContext,
    name: str,
    listening: socket.socket,
    words: tuple[str, ...],
    **environ: str,
) -> Program:
    """Return a program of Callsheet that takes over a socket and says when it is ready."""
    return Program(
        name=name,
        words=("-m", *words, "--fd", str(listening.fileno())),
        environ=around.environ(**environ),
        says=True,
        # Not the printed address, which may be that of a proxy.
        page=f"{origin_of(listening)}{PAGES[name]}",
        listening=listening,
    )


def is_answering(url: str) -> bool:
    """Return whether an address answers without a server error."""
    answer = answer_at(url, within=2)
    return answer is not None and answer[0] < 500


def _is_known(at: PrefectAddress, pool: str, name: str, since: float) -> bool:
    """Return whether the Prefect worker has contacted the server since its start."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(since))
    heard = {"last_heartbeat_time": {"after_": moment}}
    try:
        found = at.ask(f"work_pools/{pool}/workers/filter", {"workers": heard})
    except OSError:
        return False
    return any(one.get("name") == name for one in found)


# The logs of the parts: each one writes to its own file, which is read here.
#
# Files, not pipes: a part continues if its reader dies, and its last lines stay available. A large
# file is rotated once.


#: Bytes of a log before it is rotated.
LARGEST = 10_000_000
#: Bytes to read at a time, and to search for the last lines.
PIECE = 64 * 1024
#: Maximum number of last lines.
LAST = 5


class Log:
    """The log of one part; earlier lines are not read."""

    def __init__(self, path: Path, *, largest: int = LARGEST) -> None:
        self.path = path
        self._largest = largest
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        self._read = self.size()

    def size(self) -> int:
        """Return its size in bytes; 0 if it was deleted."""
        with contextlib.suppress(FileNotFoundError):
            return self.path.stat().st_size
        return 0

    def new_lines(self) -> Iterator[str]:
        """Yield the complete new lines."""
        with self.path.open("rb") as file:
            # The file may have been deleted and created again.
            self._read = self._read if self._read <= self.size() else 0
            file.seek(self._read)
            while piece := file.read(PIECE):
                # An incomplete line waits for its rest, unless it is longer than one read.
                whole = piece.rfind(b"\n") + 1 or (len(piece) if len(piece) == PIECE else 0)
                if not whole:
                    break
                self._read += whole
                file.seek(self._read)
                yield from piece[:whole].decode(errors="replace").splitlines()
        if self._read > self._largest:
            self._restart()

    def _restart(self) -> None:
        # Programs append, wherever the end is.
        with contextlib.suppress(OSError):
            shutil.copyfile(self.path, self.path.with_suffix(".log.1"))
            with self.path.open("r+b") as file:
                file.truncate(0)
            self._read = 0


def last_words(path: Path, count: int = LAST, *, since: int = 0) -> list[str]:
    """Return the last non-empty lines of a log after `since` bytes."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            # It may have been rotated.
            file.seek(max(since if since <= size else 0, size - PIECE))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return []
    return [line.rstrip() for line in lines if line.strip()][-count:]
