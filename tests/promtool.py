"""Prometheus' own promtool, which runs the unit tests of the alert rules.

python -m tests.promtool    finds one or takes it from a Debian package, and says which
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.browser import program_from_apt

#: Where `make` puts it.
OWN = Path(sys.prefix) / "bin"


def find_promtool() -> str | None:
    """Return where it is: what PROMTOOL says, else one on the path, else the one of `make`."""
    return os.environ.get("PROMTOOL") or shutil.which("promtool", path=_places())


def main() -> None:
    """Make sure that there is one; without it, the alerts' tests are skipped and say so."""
    for get in (lambda: True, lambda: program_from_apt("prometheus", "promtool", OWN)):
        if get() and (which := find_promtool()):
            version = subprocess.run([which, "--version"], capture_output=True, text=True)
            print(f"alerts are tested by {which} ({version.stdout.split(' (')[0]})")
            return
    print("there is no promtool: the unit tests of the alerts are skipped. Install Prometheus, or "
          "say where it is with PROMTOOL=/path/to/it", file=sys.stderr)  # fmt: skip


def _places() -> str:
    return os.pathsep.join([os.environ.get("PATH", os.defpath), str(OWN)])


if __name__ == "__main__":
    main()
