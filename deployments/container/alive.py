"""Whether what this container serves is alive.

    python -m callsheet.deployments.container.alive [ROLE]

The health check of the image: 0 or 1, and a line that says why. Each role is asked for itself at
its own address, which costs it no look at anything else: that a database is away is nothing that
starting a container again would fix. Without a role everything that listens here has to answer; a
command that serves nothing is alive by being there. Imports nothing but Python's own.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path

from callsheet.tasks.runtime.redact import say, visible

#: A role's port and the path that it answers at.
ROLES: dict[str, tuple[int, str]] = {
    "board": (8788, "/live"),
    "receiver": (8790, "/health"),
    # Prefect's own: 503 once it has not asked for flow runs for too long.
    "worker": (8080, "/health"),
    "prefect": (4200, "/api/health"),
    "sandbox": (8791, "/_sandbox/calls"),
}
#: Seconds that an answer may take.
WITHIN = 4.0
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENS = "0A"


def main(words: list[str]) -> int:
    """Ask the role, or every one that listens; return 0 when all answer well."""
    if words and words[0] not in ROLES:
        say(f"there is no role {words[0]}: {', '.join(ROLES)}")
        return 2
    asked = words[:1] or [role for role, (port, _) in ROLES.items() if port in listening()]
    troubles = {role: trouble_of(role) for role in asked}
    for role, trouble in troubles.items():
        print(visible(f"{role}: {trouble or 'alive'}"))
    return int(any(troubles.values()))


def trouble_of(role: str, host: str = "127.0.0.1") -> str | None:
    """Return what is wrong with a role, None when it answers well."""
    port, path = ROLES[role]
    # A proxy of the environment does not lead to this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{host}:{port}{path}", timeout=WITHIN) as answer:
            said = answer.read(65536)
    except urllib.error.HTTPError as error:
        return f"answers {error.code}"
    except (OSError, HTTPException) as error:
        return f"no answer at port {port} ({error})"
    if role == "receiver" and not _is_receiver(said):
        return f"another program answers at port {port}"
    return None


def listening() -> set[int]:
    """Return the ports that something listens on; none where the system does not tell."""
    found = set()
    for table in _TABLES:
        lines = table.read_text("utf-8").splitlines()[1:] if table.exists() else []
        for _, local, _, state, *_ in map(str.split, lines):
            if state == _LISTENS:
                found.add(int(local.rpartition(":")[2], 16))
    return found


def _is_receiver(said: bytes) -> bool:
    try:
        return bool(json.loads(said).get("receiver") == "callsheet")
    except (ValueError, AttributeError):
        return False


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
