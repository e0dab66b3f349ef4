"""How many files, connections among them, this process may have open at once."""

from __future__ import annotations

import sys
from contextlib import suppress

#: What is asked for where the system says that there is no limit, and has one (macOS).
UNSAID = 10_240


def raise_file_limit() -> int | None:
    """Raise the limit as far as the system lets us; return what it is then, None for none."""
    if sys.platform == "win32":
        return None
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return None
    wanted = max(soft, UNSAID) if hard == resource.RLIM_INFINITY else hard
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
