"""A reader's terminals: commands are typed into bash, and what they print is compared with a page.

Where a page says `...`, anything may be printed. Blanks, durations, dates and ports may differ; an
address of this machine that is printed takes the place of the page's in later commands.
"""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.programs import Desk
from tests.site.pages import Command, File, Step
from tests.site.typed import lay_command

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
_DIFFERS = re.compile(
    r"\d+\.\d+(?=\s|s\b)|\b\d+(?=s\b)|\d{4}-\d\d-\d\d|\d\d:\d\d(:\d\d)?|127\.0\.0\.1:\d+"
)
_END = "--end-of-command--"
#: How long a command may take on a busy machine, in seconds.
LIMIT = 300


@dataclass
class Reader:
    """Somebody who does in a folder what a page says."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    #: What is typed, and expected, in the place of words of the page: a free port for a usual one.
    instead: dict[str, str] = field(default_factory=dict)
    _terminals: dict[str, _Terminal] = field(default_factory=dict)
    _addresses: dict[str, str] = field(default_factory=dict)

    def follow(self, step: Step) -> None:
        """Save the file, or type the command and compare what it prints."""
        if isinstance(step, File):
            (self.folder / step.name).write_text(step.text, encoding="utf-8")
        if isinstance(step, Command):
            words, printed = step.words, step.printed
            for page, here in self.instead.items():
                words, printed = words.replace(page, here), printed.replace(page, here)
            self._type(Command(words, printed, step.terminal))

    def close(self) -> None:
        """End all terminals, with what runs in them."""
        for terminal in self._terminals.values():
            terminal.end()

    def printed_in(self, terminal: str) -> str:
        """Return what the last command of a terminal has printed so far."""
        self._terminals[terminal].ended()
        return self._terminals[terminal].said

    def _type(self, command: Command) -> None:
        if command.terminal not in self._terminals:
            desk = Desk(self.folder, self.environ)
            self._terminals[command.terminal] = _Terminal(self.folder, desk.environment())
        terminal = self._terminals[command.terminal]
        words = _ADDRESS.sub(lambda one: self._addresses.get(one[0], one[0]), command.words)
        terminal.type(words)
        wanted, until = _pattern(command.printed), time.monotonic() + LIMIT
        while not terminal.ended():
            if command.terminal and command.printed and wanted.fullmatch(_plain(terminal.said)):
                break
            assert time.monotonic() < until, f"$ {words}\n{terminal.said}"
        assert "Traceback" not in terminal.said, terminal.said
        if command.printed or not command.terminal:
            assert wanted.fullmatch(_plain(terminal.said)), (
                f"the page says\n$ {command.words}\n{command.printed}\nprinted was\n{terminal.said}"
            )
        for named, printed in zip(
            _ADDRESS.findall(command.printed), _ADDRESS.findall(terminal.said), strict=False
        ):
            self._addresses[named] = printed


class _Terminal:
    """A bash of its own."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        command = lay_command(folder.with_name(f"{folder.name}-command"))
        path = os.pathsep.join([str(command), str(Path(sys.executable).parent), environ["PATH"]])
        self.said = ""
        self._bash = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env={**environ, "PATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def type(self, words: str) -> None:
        self.said = ""
        # What a program has on its standard input is not what is typed later.
        self._bash.stdin.write(f"{{ {words}\n}} </dev/null\necho; echo {_END}\n")
        self._bash.stdin.flush()

    def ended(self) -> bool:
        """Take in what was printed; return whether the command has ended."""
        try:
            line = self._lines.get(timeout=0.2)
        except queue.Empty:
            return False
        if line == f"{_END}\n":
            return True
        self.said += line
        return False

    def end(self) -> None:
        import signal

        os.killpg(self._bash.pid, signal.SIGTERM)
        self._bash.wait(60)

    def _read(self) -> None:
        for line in self._bash.stdout:
            self._lines.put(line)


def _pattern(printed: str) -> re.Pattern[str]:
    """Return what matches what is printed when a page says this."""
    lines = [
        r"(?:.*\n)*?" if line == "..." else ".*?".join(map(re.escape, line.split("..."))) + r"\n"
        for line in _plain(printed).splitlines()
    ]
    return re.compile("".join(lines))


def _plain(text: str) -> str:
    """Return words without what differs each time."""
    lines = (re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if line.strip())
    return "".join(f"{_DIFFERS.sub('N', line)}\n" for line in lines)
