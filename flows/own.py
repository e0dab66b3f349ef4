"""`python -P -m flows.own MODULE [ARG ...]`: run a module with Callsheet's packages loaded already.

Prefect puts the folder that it works in first on Python's path whenever it loads a flow. A package
called `flows` or `tasks` that lies there would be taken for ours, unless ours is there before.
"""

from __future__ import annotations

import importlib
import runpy
import sys

from flows.packages import PACKAGES


def main() -> None:
    """Run the module named on the command line, as `python -m` would."""
    for name in PACKAGES:
        importlib.import_module(name)
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
