"""A terminal for tests: a command that is shown in it, and keys that are typed at its questions."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Callable, Sequence

from tests.launcher import launcher
from tests.programs import Desk

#: Ends of what is printed where an answer is waited for.
ASKED = (b"]: ", b"[y/N] ", b"not shown): ")


class Terminal:
    """A command at a terminal, and what is shown so far; `out` is what goes to a pipe instead."""

    def __init__(self, desk: Desk, *words: str, piped: bool = False, **environ: str) -> None:
        ours, theirs = pty.openpty()
        self.process = launcher().start(
            words,
            cwd=desk.folder,
            env={**desk.environment(), "TERM": "dumb", **environ},
            stdin=theirs,
            stdout=subprocess.PIPE if piped else theirs,
            stderr=theirs,
        )
        os.close(theirs)
        self.terminal = open(ours, "r+b", buffering=0)  # noqa: SIM115
        self.shown = b""
        self.out = ""

    def answer(self, key: str | None, meanwhile: Callable[[], object] = bool) -> None:
        """Wait for a question, and type an answer; None is Ctrl-C. `meanwhile` it is open."""
        while not self.shown.endswith(ASKED):
            self.shown += self.terminal.read(4096)
        meanwhile()
        if key is None:
            self.process.send_signal(signal.SIGINT)
        else:
            self.terminal.write(f"{key}\n".encode())
        self.shown += b"\n"

    def end(self) -> tuple[int, str]:
        """Return the exit status, and all that was shown."""
        with self.terminal:
            try:
                while more := self.terminal.read(4096):
                    self.shown += more
            except OSError:
                pass  # Linux says so when the program is gone.
            self.out = self.process.communicate(timeout=60)[0] or ""
        return self.process.returncode, self.shown.decode()

    @classmethod
    def run(
        cls, desk: Desk, *words: str, keys: Sequence[str] = (), **environ: str
    ) -> tuple[int, str]:
        """Run a command, and type `keys` at its questions."""
        one = cls(desk, *words, **environ)
        for key in keys:
            one.answer(key)
        return one.end()
