"""A lock that the kernel takes back from whoever was killed: it is of an open file."""

from __future__ import annotations

import os


def try_lock(file: int) -> bool:
    """Take the lock of an open file if it is free; it is given back when the file is closed.

    Windows has none of it: there it is always free.
    """
    if os.name == "nt":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
