"""The command line in this very process: the same words and exit statuses, without a start.

For what a command does and says; how it behaves as a process is for `tests.programs`.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.logs import logging_as_it_was

#: Commands that go on until somebody stops them, or bring Prefect into their process.
_PROCESSES = {"--run", "--workers", "board", "mcp", "nightly", "receive", "receiver"}
_PROCESSES |= {"sandbox", "up", "worker"}
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class Finished:
    """How a command ended, and what it said."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one document on stdout."""
        assert len(self.out.splitlines()) == 1, self.out
        return dict(json.loads(self.out))

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The JSON lines on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]


def may_be_here(words: Sequence[str]) -> bool:
    """Return whether a command can be run in this process, as things are just now."""
    if _PROCESSES.intersection(words) and "--without-prefect" not in words:
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    return False


def called_here(
    words: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    stdin: IO[str] | None = None,
    *,
    encoding: str = "utf-8",
) -> Finished:
    """Run a command to its end, in a folder, with an environment. It may not show a traceback.

    Its standard input is empty, unless told; `encoding` is that of what it says.
    """
    from callsheet.deployments.cli import main

    out, err = _stream(encoding), _stream(encoding, errors="backslashreplace")
    with _as_a_process(words, folder, environ, stdin), redirect_stdout(out), redirect_stderr(err):
        try:
            main(words)
        except SystemExit as end:
            status = end.code
    said, told = (stream.buffer.getvalue().decode(encoding) for stream in (out, err))
    assert "Traceback" not in said + told, said + told
    return Finished(int(status or 0), said, told)


class _Stream(io.TextIOWrapper):
    buffer: io.BytesIO


def _stream(encoding: str, errors: str = "strict") -> _Stream:
    return _Stream(io.BytesIO(), encoding, errors, newline="", write_through=True)


@contextmanager
def _as_a_process(
    words: Sequence[str], folder: Path, environ: Mapping[str, str], stdin: IO[str] | None
) -> Iterator[None]:
    """Have what a process has to itself: folder, environment, words, input, logging, signals."""
    before, place, typed, given = dict(os.environ), Path.cwd(), sys.argv, sys.stdin
    # Of another thread nobody hears signals.
    is_main = threading.current_thread() is threading.main_thread()
    handlers = {one: signal.getsignal(one) for one in _SIGNALS if is_main}
    with ExitStack() as stack:
        stack.callback(os.chdir, place)
        stack.callback(_become, before)
        stack.enter_context(logging_as_it_was())
        os.chdir(folder)
        _become(environ)
        sys.argv = ["callsheet", *words]
        sys.stdin = stdin or stack.enter_context(open(os.devnull))
        try:
            yield
        finally:
            sys.argv, sys.stdin = typed, given
            for one, handler in handlers.items():
                signal.signal(one, handler)


def _become(environ: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environ)
