"""What `prefect deploy` does before it deploys: it finds out which Python runs are to have.

Imports nothing of Prefect.
"""

from __future__ import annotations

import shlex
import subprocess
import sys


def find_python() -> dict[str, str]:
    """Return the `command` of flow runs: the Python that deploys, which has Callsheet.

    In the folder that people work in there may be other packages called `flows` or `tasks`. Python
    by itself (without -P), a worker's own command and Prefect's loading of a flow each put that
    folder first.
    """
    words = [sys.executable, "-P", "-m", "flows.own", "prefect.engine"]
    joined = subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
    return {"command": joined}
