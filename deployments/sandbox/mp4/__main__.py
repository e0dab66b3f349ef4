"""Make one video in a process of its own: a VideoPlan in one line on stdin, the path of the MP4
as argument. Stdin stays open as long as the video is wanted.

A process, not a thread: drawing must not slow the service's answers, and a render that is
cancelled can be ended at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from callsheet.deployments.sandbox.mp4.encode import encode
from callsheet.deployments.sandbox.mp4.video_plan import VideoPlan


def main() -> int:
    """Make the video; on failure say why in one line."""
    if sys.platform != "win32":
        os.nice(5)
    plan = VideoPlan.from_json(sys.stdin.buffer.readline().decode())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        encode(plan, sys.argv[1])
    except (OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _end_with_parent() -> None:
    """End when the service is gone, however it went: no one is left to take the video."""
    while os.read(0, 1024):
        pass
    # The encoder is in the same group, if this process was given a group of its own.
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    raise SystemExit(main())
