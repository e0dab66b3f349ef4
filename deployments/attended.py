"""Run a module as a child that cannot outlive its parent.

`python -m deployments.attended MODULE [ARG ...]`: the parent keeps our standard input open; when
it ends, however it ends, the read below does too, and we stop.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

#: How long an orderly stop may take before it is cut short, in seconds.
GRACE = 5.0


def main() -> None:
    """Run the module named on the command line, until it ends or the parent does."""
    threading.Thread(target=_stop_with_parent, name="parent", daemon=True).start()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _stop_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)


if __name__ == "__main__":
    main()
