"""Prometheus' own checker of rules: from the path, else out of Debian's package.

python -m tests.promtool FOLDER     finds one, or puts one there, and says which
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

#: Where `make test` puts it, below the environment that the tests run in.
OWN = Path(sys.prefix) / "promtool"
UNPACK = "dpkg-deb -x prometheus_*.deb ."
#: A download may hang where there is no network, in seconds.
LONGEST = 180


def find_promtool() -> str | None:
    """Return where it is; None where there is none."""
    return shutil.which("promtool") or (str(OWN) if OWN.exists() else None)


def main() -> None:
    """Make sure that there is one, where apt can be asked; without it, its tests are skipped."""
    if find_promtool() is None and shutil.which("apt-get"):
        with tempfile.TemporaryDirectory(prefix="callsheet-promtool-") as folder:
            _from_apt(Path(folder))
    print(f"alert rules are tested with {find_promtool() or 'nothing: install promtool'}")


def _from_apt(folder: Path) -> None:
    """Take it out of the package: installed, that would start a server."""
    for words in (
        ["apt-get", "-qq", "download", "prometheus"],
        ["sh", "-c", "dpkg-deb -x *.deb ."],
    ):
        try:
            done = subprocess.run(
                words, cwd=folder, capture_output=True, text=True, timeout=LONGEST, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"  that failed: {error}", file=sys.stderr)
            return
        if done.returncode:
            print(f"  that failed: {done.stderr.strip()[-200:]}", file=sys.stderr)
            return
    shutil.copy(folder / "usr" / "bin" / "promtool", OWN)


if __name__ == "__main__":
    main()
