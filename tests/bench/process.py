"""One program as a process of its own: how it ended, and what it took of the machine.

Never by way of the tests' launcher: what is measured pays for its own imports, and a fork would
bring the launcher's memory along.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

#: `ru_maxrss` counts so many bytes.
_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Ended:
    """A program's end: seconds of wall and of processor, and the most memory it held, in bytes."""

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
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        finally:
            late.cancel()
        seconds = time.perf_counter() - started
        # Taken from the system already: nobody may wait for it again.
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    processor = used.ru_utime + used.ru_stime
    return Ended(process.returncode, texts[0], texts[1], seconds, processor, used.ru_maxrss * _UNIT)
