"""Starts programs quickly: one process imports a program, and every start of it is a fork of that.

What is under test stays a process of its own, with its own folder, environment, files and end;
only the seconds that Python takes to import its libraries are paid once instead of every time.
Processes of pytest that work side by side have one launcher of each program between them.

    python -m tests.launcher PROGRAM SOCKET    listens at a socket, reads orders from whoever comes,
                                               a line of JSON each, with the four files of a
                                               process, and forks; ends when all have left
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from select import select
from typing import IO, Any
from zlib import crc32

from tests.mutants.lines import FOLDER as RECORDS
from tests.mutants.lines import record_process

ROOT = Path(__file__).parent.parent


#: Names the folder that a wheel is unpacked in: programs are started from there (`tests.wheel`).
WHEEL = "TESTED_WHEEL"


def imports_of(root: Path) -> str:
    """Return the PYTHONPATH by which tests and program of a checkout are imported."""
    wheel = os.environ.get(WHEEL) if root == ROOT else None
    recorded = [str(root / "tests/mutants/site")] if os.environ.get(RECORDS) else []
    return os.pathsep.join((str(root), wheel or str(root / "src"), *recorded))


IMPORTS = imports_of(ROOT)
#: Names the folder that all workers of a run of pytest find their launchers in.
PLACE = "TESTS_LAUNCHERS"
#: Launchers that this process has started: others may still need them when it ends.
_STARTED: list[subprocess.Popen[bytes]] = []


def _modules(*folders: str) -> tuple[str, ...]:
    """Return the names of the modules in folders of the program."""
    found = (path for folder in folders for path in sorted((ROOT / folder).glob("[a-z]*.py")))
    return tuple(
        ".".join(("callsheet", *path.relative_to(ROOT).with_suffix("").parts)) for path in found
    )


#: What a program imports, sooner or later; of Callsheet's not Prefect, which reads its environment
#: when it is imported.
IMPORTED = {
    "callsheet": (
        "callsheet.deployments.cli",
        "callsheet.deployments.misunderstood",
        "callsheet.deployments.terminal_run",
        "callsheet.deployments.servers",
        *_modules("deployments/arguments", "deployments/commands"),
        *_modules("tasks/campaign", "tasks/ledger", "tasks/service", "tasks/sheet"),
        "callsheet.tasks.store.bucket",
        "callsheet.tasks.store.redirects",
        "PIL.BmpImagePlugin",
        "PIL.GifImagePlugin",
        "PIL.JpegImagePlugin",
        "PIL.PngImagePlugin",
        "PIL.PpmImagePlugin",
        "asyncio.subprocess",
        "encodings.utf_8_sig",
        "resource",
        "sqlalchemy.dialects.sqlite",
        "sqlalchemy.dialects.postgresql",
        "alembic.command",
        "alembic.config",
        "av.subtitles.stream",
        "boto3",
        "psycopg",
        "pysubs2",
        "rich._emoji_codes",
        "rich.live",
        "ruamel.yaml",
        "traceback",
    ),
    "board-run": (
        "callsheet.deployments.board.run_process",
        *_modules("tasks/campaign", "tasks/ledger", "tasks/service", "tasks/sheet"),
        "sqlalchemy.dialects.sqlite",
        "av.subtitles.stream",
        "pysubs2",
    ),
    "worker": (
        "tests.workers.one_worker",
        "sqlalchemy.dialects.postgresql",
        "av.subtitles.stream",
        "psycopg",
        "pysubs2",
    ),
    "distributed-run": (
        "tests.workers.one_run",
        "callsheet.tasks.campaign.manifest",
        "callsheet.tasks.campaign.report",
        "sqlalchemy.dialects.postgresql",
        "alembic.command",
        "psycopg",
    ),
    "sandbox": (
        "callsheet.deployments.sandbox.__main__",
        "callsheet.deployments.sandbox.serve",
        "httpx",
        "anyio._backends._asyncio",
        "concurrent.futures.thread",
        "pydantic.v1",
        "uvicorn.lifespan.on",
        "uvicorn.loops.asyncio",
    ),
}


class Process:
    """A fork of a launcher, used like a `subprocess.Popen` with text for its streams."""

    def __init__(self, told: int, streams: Mapping[str, IO[str]]) -> None:
        # It says its number at once and its exit status at the end.
        self._told = os.fdopen(told)
        self.pid = int(self._told.readline())
        self.stdin = streams.get("stdin")
        self.stdout = streams.get("stdout")
        self.stderr = streams.get("stderr")
        self.returncode: int | None = None
        self._one_at_a_time = threading.Lock()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: object) -> None:
        self._close(self.stdout, self.stderr, self.stdin)
        self.wait()

    def poll(self) -> int | None:
        """Return its exit status, None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; raise TimeoutExpired if it takes longer than `timeout` seconds."""
        if self.returncode is None and not select([self._told], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        with self._one_at_a_time:
            if self.returncode is None:
                self.returncode = int(self._told.readline())
        return self.returncode

    def communicate(
        self, input: str | None = None, timeout: float | None = None
    ) -> tuple[str, str]:
        """Write `input`, read what it says to its end, and wait for that."""
        said = {}

        def read(stream: IO[str]) -> None:
            said[stream] = stream.read()

        streams = [one for one in (self.stdout, self.stderr) if one and not one.closed]
        readers = [threading.Thread(target=read, args=[one], daemon=True) for one in streams]
        for reader in readers:
            reader.start()
        with suppress(BrokenPipeError):
            if self.stdin is not None and input:
                self.stdin.write(input)
            self._close(self.stdin)
        self.wait(timeout)
        for reader in readers:
            reader.join(timeout)
        self._close(*streams)
        out, err = (said.get(one, "") if one else "" for one in (self.stdout, self.stderr))
        return out, err

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    @staticmethod
    def _close(*streams: IO[str] | None) -> None:
        for stream in streams:
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


class Launcher:
    """The process that forks, and the way to it; several threads may use it."""

    def __init__(self, program: str, imports: str = IMPORTS) -> None:
        self._orders = _way_to(program, imports)
        self._one_at_a_time = threading.Lock()

    def start(
        self,
        words: Sequence[str],
        *,
        cwd: Path = ROOT,
        env: Mapping[str, str] | None = None,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        new_session: bool = False,
        hook: Mapping[str, Any] | None = None,
    ) -> Process:
        """Start the program; its streams are said as to a `subprocess.Popen`.

        `hook` is an order to its crash points (`tests.torture.hook`).
        """
        order = {"words": list(words), "cwd": str(cwd), "hook": hook, "new_session": new_session}
        order["env"] = dict(os.environ if env is None else env)
        ours: dict[str, IO[str]] = {}
        with ExitStack() as theirs:
            files = []
            for number, (name, how) in enumerate(
                {"stdin": stdin, "stdout": stdout, "stderr": stderr}.items()
            ):
                if how == subprocess.PIPE:
                    reading, writing = os.pipe()
                    given, kept = (writing, reading) if number else (reading, writing)
                    ours[name] = os.fdopen(kept, "r" if number else "w")
                    theirs.callback(os.close, given)
                elif how == subprocess.DEVNULL:
                    given = os.open(os.devnull, os.O_RDWR)
                    theirs.callback(os.close, given)
                else:
                    given = number if how is None else how
                files.append(given)
            told, telling = os.pipe()
            theirs.callback(os.close, telling)
            message = json.dumps(order).encode() + b"\n"
            with self._one_at_a_time:
                sent = socket.send_fds(self._orders, [message], [*files, telling])
                self._orders.sendall(message[sent:])
        return Process(told, ours)


@cache
def launcher(program: str = "callsheet", imports: str = IMPORTS) -> Launcher:
    """Return this test process's launcher of a program, started at the first use of any.

    `imports` is the PYTHONPATH that it has its modules from.
    """
    return Launcher(program, imports)


@cache
def folder() -> Path:
    """Return where the launchers listen: the run of pytest's place, else one of this process's."""
    if given := os.environ.get(PLACE):
        return Path(given)
    made = tempfile.mkdtemp(prefix="callsheet-launchers-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def _way_to(program: str, imports: str) -> socket.socket:
    """Return a connection to the launcher of a program, which is there from now on."""
    place = folder() / (program if imports == IMPORTS else f"{program}-{crc32(imports.encode())}")
    with _alone_at(place):
        with suppress(OSError):
            return _connected(place)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(place))
            listening.listen(64)
            # Before it runs: it ends once it has nobody left.
            ours = _connected(place)
            started = subprocess.Popen(
                [sys.executable, "-m", "tests.launcher", program, str(listening.fileno())],
                cwd=ROOT,
                # Threads of a library do not survive a fork.
                env={
                    **os.environ,
                    "PYTHONPATH": imports,
                    "OPENBLAS_NUM_THREADS": "1",
                    # What it forks is recorded, each for its test.
                    RECORDS: "",
                },
                stdin=subprocess.DEVNULL,
                pass_fds=[listening.fileno()],
            )
            _STARTED.append(started)
        return ours


def _connected(place: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(place))
    except OSError:
        connection.close()
        raise
    return connection


@contextmanager
def _alone_at(place: Path) -> Iterator[None]:
    """Let nobody else come to a launcher, start it or end it meanwhile."""
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(program: str, listening: socket.socket) -> None:
    """Import the program, then fork for every order until nobody is left who could give any."""
    for module in IMPORTED[program]:
        importlib.import_module(module)
    # A fork's garbage collector leaves alone, and thereby shared, what was there before it.
    gc.collect()
    gc.freeze()
    tellings: dict[int, int] = {}
    signal.signal(signal.SIGCHLD, lambda number, frame: _tell(tellings))
    place, giving = Path(listening.getsockname()), [listening.accept()[0]]
    while giving or not _ended(place, listening):
        for one in select([listening, *giving], [], [])[0]:
            if one is listening:
                giving.append(listening.accept()[0])
            elif (found := _next_order(one)) is not None:
                _fork(program, found, tellings, (listening, *giving))
            else:
                giving.remove(one)
                one.close()


def _ended(place: Path, listening: socket.socket) -> bool:
    """Say that there is no launcher any more, unless somebody has come just now."""
    try:
        with _alone_at(place):
            if select([listening], [], [], 0)[0]:
                return False
            place.unlink(missing_ok=True)
    except FileNotFoundError:
        # The run is over, and its place is gone.
        pass
    return True


def _fork(
    program: str,
    found: tuple[dict[str, Any], list[int]],
    tellings: dict[int, int],
    sockets: Sequence[socket.socket],
) -> None:
    order, (*streams, telling) = found
    # It may end before it is known here.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    child = os.fork()
    if child == 0:
        for its in sockets:
            its.close()
        for one in (*tellings.values(), telling):
            os.close(one)
        _become(program, order, streams)
    os.write(telling, f"{child}\n".encode())
    tellings[child] = telling
    for one in streams:
        os.close(one)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _next_order(orders: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    message, files, _, _ = socket.recv_fds(orders, 1 << 16, 4)
    while message and not message.endswith(b"\n"):
        message += orders.recv(1 << 16)
    return (json.loads(message), files) if message else None


def _tell(tellings: dict[int, int]) -> None:
    """Tell of every end there was, by its exit status; -9 of what was killed."""
    while tellings:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            # The next signal came while this one was dealt with, and all ends have been told.
            return
        if child == 0:
            return
        telling = tellings.pop(child)
        # Nobody need be waiting for it.
        with suppress(BrokenPipeError):
            os.write(telling, f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os.close(telling)


def _become(program: str, order: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Become the program: its files, its folder, its environment; never return."""
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # Tests may be run with `nohup`; what they start is not.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        if order["new_session"]:
            os.setsid()
        for number, one in enumerate(streams):
            os.dup2(one, number)
            os.close(one)
        # Anew: those of the launcher remember what kind of files they were opened for.
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
        os.chdir(str(order["cwd"]))
        os.environ.clear()
        os.environ.update(order["env"])
        sys.path[:0] = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
        sys.argv = [program, *order["words"]]
        if order["hook"]:
            from tests.torture.hook import hang_on

            hang_on(order["hook"])
        record_process()
        status = _call(program, order["words"])
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _call(program: str, words: Sequence[str]) -> int:
    if program == "sandbox":
        from callsheet.deployments.sandbox.__main__ import main as sandbox

        return sandbox(words)
    if program == "board-run":
        from callsheet.deployments.board.run_process import main as board_run

        return board_run(*words)
    if program == "worker":
        from tests.workers.one_worker import main as worker

        return worker(words)
    if program == "distributed-run":
        from tests.workers.one_run import main as distributed_run

        return distributed_run(words)
    from callsheet.deployments.cli import main as callsheet

    return callsheet(words) or 0


if __name__ == "__main__":
    main(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
