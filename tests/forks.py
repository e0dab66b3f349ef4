"""Runs tests in forks of the process that collected them: what they import is paid for once.

    python -m pytest --forks 6

Each fork takes the next file of tests once it is through with one, and sends its reports to the
process that collected, which shows and counts them as if it had run the tests itself.
"""

from __future__ import annotations

import atexit
import os
import pickle
import selectors
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

#: Which tests are run by the same fork, one after the other.
Group = Sequence[pytest.Item]
_NUMBER = struct.Struct("<H")
_LENGTH = struct.Struct("<I")
#: Threads of a library do not survive a fork, so it is not to start any before.
_THREADS = "OPENBLAS_NUM_THREADS"
_AS_IT_WAS = os.environ.get(_THREADS)
os.environ[_THREADS] = "1"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, help="processes that run tests side by side")


def run_in_forks(session: pytest.Session, groups: Sequence[Group], count: int) -> None:
    """Run groups of tests, `count` at a time, each by the fork that is free first."""
    session.config.stash[_BASE] = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    tasks, giving = os.pipe()
    os.write(giving, b"".join(_NUMBER.pack(number) for number in range(len(groups))))
    os.close(giving)
    forks = [_fork(session, groups, tasks, number) for number in range(count)]
    try:
        for fork, (kind, told) in _told_by(forks):
            if kind == "begins":
                fork.test = told
            elif kind == "report":
                _show(session, fork, told)
            if session.shouldfail or session.shouldstop:
                # Nothing is begun any more, and what is on comes to its end.
                while os.read(tasks, 1 << 16):
                    pass
    finally:
        os.close(tasks)
        for fork in forks:
            with suppress(ChildProcessError):
                os.waitpid(fork.pid, 0)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


_BASE = pytest.StashKey[Any]()
_CAPTURED = pytest.StashKey[Any]()


@dataclass(eq=False)
class _Fork:
    """A fork as the collecting process sees it; `test` is on, by name and location."""

    number: int
    pid: int
    reports: int
    buffer: bytearray = field(default_factory=bytearray)
    test: tuple[str, Any] | None = None
    is_done: bool = False

    @property
    def gateway(self) -> Any:
        """Where pytest looks for what it prints of the process that ran a test."""
        return self

    @property
    def id(self) -> str:
        return f"fork {self.number}"

    @property
    def _workerinfocache(self) -> str:
        return f"[{self.id}]"


def _fork(session: pytest.Session, groups: Sequence[Group], tasks: int, number: int) -> _Fork:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return _Fork(number, pid, reading)
    status = 1
    try:
        os.close(reading)
        _become_a_fork(session.config, number)
        session.config.pluginmanager.register(_Telling(session.config, writing), "forks-telling")
        _run(session, _in_turn(groups, tasks))
        _tell(writing, "done", None)
        status = 0
    finally:
        # What is registered from here on is this fork's: servers that its tests started.
        atexit._run_exitfuncs()
        os._exit(status)


def _become_a_fork(config: pytest.Config, number: int) -> None:
    """Leave what is the collecting process's: its terminal, its files, what it does at its end."""
    atexit._clear()
    os.environ.pop(_THREADS)
    if _AS_IT_WAS is not None:
        os.environ[_THREADS] = _AS_IT_WAS
    for name in ("terminalreporter", "lfplugin", "nfplugin", "stepwiseplugin"):
        if plugin := config.pluginmanager.getplugin(name):
            config.pluginmanager.unregister(plugin)
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    # Loggers that were set up while tests were imported go on to write where they did.
    config.stash[_CAPTURED] = before = capture._global_capturing
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (before.out, before.err):
        if stream is not None:
            os.dup2(nowhere, stream.tmpfile.fileno())
    capture._global_capturing = None
    capture.start_global_capturing()
    factory: Any = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = config.stash[_BASE] / f"fork{number}"
    factory._basetemp.mkdir(mode=0o700)


def _in_turn(groups: Sequence[Group], tasks: int) -> Iterator[pytest.Item]:
    """Yield the tests of whatever group is next, until none is left."""
    while number := os.read(tasks, _NUMBER.size):
        yield from groups[_NUMBER.unpack(number)[0]]


def _run(session: pytest.Session, items: Iterator[pytest.Item]) -> None:
    item = next(items, None)
    while item is not None:
        # What follows says which fixtures are kept.
        following = next(items, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item = following


class _Telling:
    """Sends what happens in a fork."""

    def __init__(self, config: pytest.Config, reports: int) -> None:
        self._config = config
        self._reports = reports

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        _tell(self._reports, "begins", (nodeid, location))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook
        data = hook.pytest_report_to_serializable(config=self._config, report=report)
        _tell(self._reports, "report", data)


def _tell(reports: int, kind: str, told: object) -> None:
    message = pickle.dumps((kind, told))
    message = _LENGTH.pack(len(message)) + message
    while message:
        message = message[os.write(reports, message) :]


def _told_by(forks: Sequence[_Fork]) -> Iterator[tuple[_Fork, tuple[str, Any]]]:
    """Yield what forks send, as it comes, until all have ended."""
    with selectors.DefaultSelector() as selector:
        for fork in forks:
            selector.register(fork.reports, selectors.EVENT_READ, fork)
        while selector.get_map():
            for key, _ in selector.select():
                fork = key.data
                if piece := os.read(fork.reports, 1 << 16):
                    fork.buffer += piece
                    yield from ((fork, one) for one in _messages(fork))
                    continue
                selector.unregister(fork.reports)
                os.close(fork.reports)
                if not fork.is_done:
                    yield fork, ("report", None)


def _messages(fork: _Fork) -> Iterator[tuple[str, Any]]:
    while len(fork.buffer) >= _LENGTH.size:
        (length,) = _LENGTH.unpack(fork.buffer[: _LENGTH.size])
        end = _LENGTH.size + length
        if len(fork.buffer) < end:
            return
        found = pickle.loads(fork.buffer[_LENGTH.size : end])
        del fork.buffer[:end]
        fork.is_done = found[0] == "done"
        yield found


def _show(session: pytest.Session, fork: _Fork, told: Any) -> None:
    hook = session.config.hook
    if told is None:
        name, location = fork.test or ("no test", ("", 0, ""))
        words = f"{fork.id} died while it ran {name}, and what it had still to run was not run"
        report = pytest.TestReport(name, location, {}, "failed", words, "call")
    else:
        report = hook.pytest_report_from_serializable(config=session.config, data=told)
    # As with other processes: pytest prints a letter, and no name of a file before it.
    report.node = fork
    hook.pytest_runtest_logreport(report=report)


def groups_of(items: Sequence[pytest.Item], name: Callable[[pytest.Item], str]) -> list[Group]:
    """Return tests by the name of their group, in the order in which groups begin."""
    found: dict[str, list[pytest.Item]] = {}
    for item in items:
        found.setdefault(name(item), []).append(item)
    return list(found.values())
