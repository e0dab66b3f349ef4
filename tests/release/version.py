"""The version: `pyproject.toml` has it. Programs ask the installed package; these files copy it.

python -m tests.release.version NEW    write a new version, as 1.2.0, into all of them
"""

from __future__ import annotations

import re
import sys
import tomllib

from tests.launcher import ROOT

_TAG = r"\bcallsheet(?:-demo)?:([0-9][\w.]*)"
#: Every file that has the version, and what is around it.
PLACES = {
    "pyproject.toml": r'^version = "(.+)"$',
    "deployments/helm/Chart.yaml": r"^(?:version|appVersion): (.+)$",
    "deployments/compose.yaml": _TAG,
    "deployments/demo.env": _TAG,
    "docs/containers.md": _TAG,
}
#: Both Python and Helm read it.
_FORM = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


def project_version() -> str:
    """Return the version in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def copies_of_version() -> list[tuple[str, str]]:
    """Return every file that has a version, with that version, once for each time."""
    return [
        (name, found)
        for name, around in PLACES.items()
        for found in re.findall(around, (ROOT / name).read_text(), re.MULTILINE)
    ]


def write_version(new: str) -> None:
    """Write a version into every file that has it; raise SystemExit if it is not one."""
    if not _FORM.fullmatch(new):
        sys.exit(f'"{new}" is no version: three numbers, as 1.2.0')
    for name, around in PLACES.items():
        text = (ROOT / name).read_text()
        written = re.sub(around, lambda m: m[0].replace(m[1], new), text, flags=re.MULTILINE)
        (ROOT / name).write_text(written)


if __name__ == "__main__":
    write_version(sys.argv[1])
    print(*(f"{name}: {found}" for name, found in copies_of_version()), sep="\n")
