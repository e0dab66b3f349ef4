"""The `callsheet` of a reader's terminal: a fork of the launcher in the place of a slow start."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tests.launcher import launcher


def lay_command(folder: Path) -> Path:
    """Have the command in a folder, and the launcher running; return the folder."""
    launcher()
    folder.mkdir(exist_ok=True)
    script = folder / "callsheet"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tests.site.typed "$@"\n')
    script.chmod(0o755)
    return folder


def main(words: list[str]) -> int:
    """Run the command with this process's files, folder and environment; pass on its signals."""
    process = launcher().start(words, cwd=Path.cwd(), env=os.environ)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _: process.send_signal(received))
    return process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
