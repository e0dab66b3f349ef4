"""What files for containers name: commands of ours and of Prefect's, settings, modules, files."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from callsheet.deployments.container.enter import SECRETS as PREFECT_SECRETS
from callsheet.deployments.parser import parse
from callsheet.tasks.runtime.known_settings import KNOWN, SECRETS
from tests.programs import ROOT

#: Where the image has Callsheet.
PACKAGES = Path("/opt/callsheet/lib/python3.11/site-packages")
#: Boto's own, and what the Python and the system in the image know.
OTHERS = {
    "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_ENDPOINT_URL_S3", "AWS_REGION",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "PATH", "HOME", "NO_COLOR", "DO_NOT_TRACK", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED",
    "PYTHONSAFEPATH", "PIP_NO_CACHE_DIR", "PIP_DISABLE_PIP_VERSION_CHECK", "PIP_ROOT_USER_ACTION",
}  # fmt: skip
#: Prints every setting of Prefect's, and the options of those of its commands that are used.
_PREFECT = """
import inspect, json, re
from prefect.cli import server, worker
from prefect.settings import Settings
from prefect.settings.legacy import _get_settings_fields
starts = {"server start": server.start, "worker start": worker.start}
options = {
    name: ["--" + one.replace("_", "-") for one in inspect.signature(start).parameters]
    + re.findall(r"--[a-z][a-z-]+", inspect.getsource(start))
    for name, start in starts.items()
}
print(json.dumps({"settings": sorted(_get_settings_fields(Settings)), "options": options}))
"""


def unknown_variables(names: Iterable[str]) -> set[str]:
    """Return the environment variables that nobody reads."""
    ours = {f"CALLSHEET_{name.upper()}" for name in KNOWN}
    ours |= {f"CALLSHEET_{name.upper()}_FILE" for name in SECRETS}
    known = ours | OTHERS | {f"{name}_FILE" for name in PREFECT_SECRETS}
    left = set(names) - known
    prefects = {name for name in left if name.startswith("PREFECT_")}
    return left - (prefects & prefect_settings() if prefects else set())


def prefect_settings() -> frozenset[str]:
    """Return the names of Prefect's settings."""
    return frozenset(_prefect()["settings"])


def check_command(words: list[str]) -> None:
    """Fail where a container's command is none that there is, or has options that it has not."""
    program, *rest = words
    if program == "callsheet":
        assert rest == ["--help"] or parse(rest)
    elif program == "prefect":
        _check_prefect(rest)
    elif program == "worker":
        _check_prefect(["worker", "start", *rest])
    elif program == "python":
        assert rest[0] == "-m"
        assert importlib.util.find_spec(rest[1]) is not None, rest[1]
    else:
        assert program == "sh", words
    for word in words:
        if word.startswith(str(PACKAGES)):
            assert (ROOT / Path(word).relative_to(PACKAGES)).is_file(), word


def _check_prefect(words: list[str]) -> None:
    known = _prefect()["options"][" ".join(words[:2])]
    for word in words:
        assert not word.startswith("--") or word in known, f"prefect has no {word}"


@cache
def _prefect() -> dict[str, Any]:
    """Return what Prefect has, asked of a process of its own: it is slow to import."""
    done = subprocess.run([sys.executable, "-c", _PREFECT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))
