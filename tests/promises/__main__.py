"""`python -m tests.promises [--check]`: record what the next release promises, or compare with it.

Prints what was removed or changed since the last release, and what is new.
"""

from __future__ import annotations

import sys

from tests.promises.comparison import PROMISES, SEEN, added, broken, promised, record


def main(*, check: bool) -> int:
    """Print the differences and record them; return 1 if they were only to be found."""
    different = 0
    for name, find in PROMISES.items():
        old, new = promised(name), find()
        lines = broken(old, new, seen=name in SEEN) + [f"new: {one}" for one in added(old, new)]
        different += len(lines)
        print(*(f"{name}: {line}" for line in lines), sep="\n", end="\n" if lines else "")
        if not check:
            record(name, new)
    if check and different:
        print("Record these for the release: python -m tests.promises")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
