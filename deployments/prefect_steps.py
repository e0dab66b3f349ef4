"""What `prefect deploy` does before it deploys: it finds out which Python runs are to have.

Imports nothing of Prefect.
"""

from __future__ import annotations

import shlex
import subprocess
import sys


def find_python() -> dict[str, str]:
    """Return the `command` of flow runs: the Python that deploys, which has Callsheet."""
    words = [sys.executable, "-P", "-m", "prefect.engine"]
    joined = subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
    return {"command": joined}
