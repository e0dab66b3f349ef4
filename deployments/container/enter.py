"""What a container begins with.

    python -m callsheet.deployments.container.enter COMMAND [ARG ...]

Callsheet reads its own secrets from files (`CALLSHEET_API_KEY_FILE`); Prefect reads none. So what
`PREFECT_..._FILE` names is read here, then the command takes the place of this process. It is
`callsheet`, `prefect` or `worker`, or any program there is. Imports nothing but Python's own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from callsheet.tasks.runtime.redact import say

#: Prefect's settings that are secrets, or have a password in them.
SECRETS = (
    "PREFECT_API_KEY",
    "PREFECT_API_AUTH_STRING",
    "PREFECT_SERVER_API_AUTH_STRING",
    "PREFECT_SERVER_DATABASE_CONNECTION_URL",
    "PREFECT_SERVER_DATABASE_PASSWORD",
    "PREFECT_CLIENT_CUSTOM_HEADERS",
)
#: Commands that are Python modules: packages that lie in the folder are not taken for them.
MODULES = {
    "callsheet": ("callsheet.deployments.cli",),
    "prefect": ("prefect",),
    # Prefect's worker, whose flow runs let go when it is stopped.
    "worker": ("callsheet.deployments.prefect_worker",),
}


def main(words: list[str]) -> int:
    """Become the command; return 2 where that is not possible."""
    if not words:
        say("name a command, as `callsheet board`")
        return 2
    try:
        environ = with_secrets(os.environ)
        command = command_of(words)
        os.execvpe(command[0], command, environ)
    except OSError as error:
        say(f"callsheet: {error.filename or words[0]}: {error.strerror}")
        return 2


def with_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with Prefect's secrets out of their files; OSError where one is not.

    A file wins over the variable, as it does for Callsheet's own.
    """
    found = dict(environ)
    for name in SECRETS:
        if file := found.pop(f"{name}_FILE", ""):
            found[name] = Path(file).read_text("utf-8").strip()
    return found


def command_of(words: list[str]) -> list[str]:
    """Return what is to be executed for the words of a container's command."""
    module = MODULES.get(words[0])
    return [sys.executable, "-P", "-m", *module, *words[1:]] if module else words


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
