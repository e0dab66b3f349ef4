"""`make test-cluster`: a campaign on several machines while they die, stop and restart.

Ends with 1 where anything did not hold. `--keep FOLDER` leaves what was written there.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.cluster.findings import Findings
from tests.cluster.machines import cluster
from tests.cluster.scenes import SCENES

SETTINGS = {
    # A dead machine is taken for dead sooner than after a minute.
    "CALLSHEET_LEASE": "10s",
    "CALLSHEET_PICTURES": "no",
}


def main() -> int:
    """Put a cluster through everything, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    parser.add_argument("--rows", type=int, default=2000, help="rows of the large campaign")
    parser.add_argument("--only", nargs="+", choices=[*SCENES], default=[*SCENES])
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="an empty folder to work in")
    args = parser.parse_args()
    findings = Findings()
    with ExitStack() as stack:
        folder = args.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        found = stack.enter_context(cluster(folder, SETTINGS))
        for name in args.only:
            SCENES[name](found, findings, args.rows)
    print(findings.table())
    times = os.times()
    busy = times.children_user + times.children_system
    print(f"\n{len(findings.violations)} violations; at least {busy:.0f} s of processor")
    return int(bool(findings.violations))


if __name__ == "__main__":
    sys.exit(main())
