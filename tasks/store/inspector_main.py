"""The program of a process that inspects videos: a line of JSON for each, until no one asks.

    python -P -m callsheet.tasks.store.inspector_main

Owns nothing that outlives it. Imports neither the service nor the ledger, lest it be large.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import av  # noqa: F401  (the first video does not wait for it)

from callsheet.tasks.runtime.errors import VideoError
from callsheet.tasks.store.inspection import inspect_video
from callsheet.tasks.store.inspector import answer_of


def answer(order: dict[str, Any]) -> None:
    """Inspect a video and say what it is, what is wrong with it, or nothing."""
    said: dict[str, Any] = {}
    try:
        said["inspection"] = answer_of(inspect_video(Path(order["path"]), order["pictures"]))
    except VideoError as error:
        said["wrong"] = str(error)
    except Exception:
        # Whoever asked does it again, and finds out what it is.
        pass
    send(said)


def send(said: dict[str, Any]) -> None:
    """Write a line."""
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Answer until the asker is gone; this side never ends it."""
    for kind in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, kind):
            # They are for the asker, who may have videos to bring home before it ends.
            signal.signal(getattr(signal, kind), signal.SIG_IGN)
    # A thread works, so that this one notices when the asker is gone in the middle of a video.
    thread = ThreadPoolExecutor(1)
    try:
        send({})
        for line in sys.stdin:
            thread.submit(answer, json.loads(line))
    finally:
        # At once: no one waits for what it is at.
        os._exit(0)


if __name__ == "__main__":
    main()
