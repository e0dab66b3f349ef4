"""One program as a process of its own: how it ended, and what it took of the machine.

Never by way of the tests' launcher: what is measured pays for its own imports, and a fork would
bring the launcher's memory along.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: `ru_maxrss` counts so many bytes.
_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Ended:
    """A program's end: seconds of wall and of processor, and the most memory it held, in bytes.

    Processor and memory are those of its own processes, too.
    """

    status: int
    out: str
    err: str
    seconds: float
    processor: float
    peak: int


def run(
    words: Sequence[str], *, folder: Path, environ: Mapping[str, str], within: float = 3600
) -> Ended:
    """Run a program to its end, which must come within so many seconds."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen(
            words, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        late = threading.Timer(within, process.kill)
        late.start()
        children = _Children(process.pid)
        children.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        finally:
            late.cancel()
            children.over.set()
            children.join()
        seconds = time.perf_counter() - started
        # Taken from the system already: nobody may wait for it again.
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    processor = used.ru_utime + used.ru_stime
    peak = used.ru_maxrss * _UNIT + sum(children.peaks.values())
    return Ended(process.returncode, texts[0], texts[1], seconds, processor, peak)


class _Children(threading.Thread):
    """Looks now and then at the most memory that each child of a process held, where it can."""

    def __init__(self, pid: int) -> None:
        super().__init__(name="children", daemon=True)
        self._threads = Path(f"/proc/{pid}/task")
        self.peaks: dict[str, int] = {}
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.2):
            with suppress(OSError):
                # A child is listed with the thread that started it.
                for listed in self._threads.glob("*/children"):
                    for child in listed.read_text().split():
                        self._look(child)

    def _look(self, child: str) -> None:
        held = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{child}/status").read_text())
        if held:
            self.peaks[child] = int(held[1]) * 1024
