"""The board as people start it: `callsheet board`, with a sandbox's service, in a process."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.launcher import Process
from tests.programs import Desk, Sandbox, sandbox


@dataclass
class WholeBoard:
    """A board's process, what it said when it was ready, and the service that it speaks to."""

    desk: Desk
    service: Sandbox
    process: Process
    said: dict[str, Any]

    @property
    def url(self) -> str:
        """Where it is."""
        return str(self.said["url"])

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def start_again(self) -> None:
        """Start it where it was."""
        self.process, self.said = _start(self.desk, self.url.rpartition(":")[2])


@contextmanager
def whole_board(folder: Path, *options: str) -> Iterator[WholeBoard]:
    """Start a sandbox with those options, and a board in a folder."""
    with sandbox(folder / "service", *options) as service:
        (folder / "desk").mkdir()
        desk = Desk(folder / "desk", service.environ)
        opened = WholeBoard(desk, service, *_start(desk, "0"))
        try:
            yield opened
        finally:
            opened.process.terminate()
            opened.process.communicate(timeout=60)


def _start(desk: Desk, port: str) -> tuple[Process, dict[str, Any]]:
    process = desk.start("board", "--port", port, "--json")
    assert isinstance(process, Process)
    line = process.stdout.readline()
    if not line:
        process.kill()
        raise AssertionError(process.communicate()[1])
    return process, json.loads(line)
