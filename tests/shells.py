"""The shells in which completion is tested: bash, zsh and fish.

python -m tests.shells    finds them or installs Debian's packages, and says which there are
"""

from __future__ import annotations

import shutil
import sys

from tests.browser import from_apt

SHELLS = ("bash", "zsh", "fish")


def main() -> None:
    """Make sure that there is each; without one, its tests are skipped and say so."""
    for shell in SHELLS:
        if shutil.which(shell) or (from_apt(shell) and shutil.which(shell)):
            print(f"completion is tested in {shutil.which(shell)}")
        else:
            print(f"there is no {shell}: its tests are skipped; install it", file=sys.stderr)


if __name__ == "__main__":
    main()
