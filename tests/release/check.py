"""What has to hold for a release before it is published."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.containers.dockerfile import read_dockerfile
from tests.launcher import ROOT
from tests.release.build import wheel_of_sdist
from tests.release.pythons import NEEDED, UV, install, make_environment
from tests.release.version import project_version
from tests.wheel import SOURCES

#: The campaign of the README's demo: its rows, and what they cost.
DEMO, ROWS, CREDITS = "spring-launch.csv", 14, 268
#: What setuptools writes into an sdist and a wheel.
_MADE = re.compile(r"(src/callsheet\.egg-info|callsheet-[\d.]+\.dist-info)/|PKG-INFO$|setup\.cfg$")


def check_description(*built: Path) -> None:
    """Check with twine that indexes accept wheel and sdist, and can show the README."""
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *built], check=True)


def check_changelog() -> None:
    """Raise SystemExit if the changelog does not begin with this version."""
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    if first is None or first[1] != project_version():
        sys.exit(f"CHANGELOG.md has to begin with: ## {project_version()} (the date)")


def check_promises() -> None:
    """Raise SystemExit if the release has names that are not recorded, or lacks recorded ones."""
    done = subprocess.run([sys.executable, "-m", "tests.promises", "--check"], cwd=ROOT)
    if done.returncode != 0:
        sys.exit("what this release promises is not recorded")


def check_contents(wheel: Path, sdist: Path, files: Sequence[str]) -> None:
    """Raise SystemExit if an archive has a file that is not one of the program, or lacks one."""
    program = {
        f"src/callsheet/{name.removeprefix('src/callsheet/')}"
        for name in files
        if name.startswith(("src/callsheet/", "flows/", "tasks/", "deployments/"))
    }
    needed = {one for one in program if one.endswith(".py")}
    for kind, names, known in (
        ("wheel", {f"src/{one}" for one in zipfile.ZipFile(wheel).namelist()}, program),
        ("sdist", {one.partition("/")[2] for one in _names_in(sdist)}, program | {*SOURCES}),
    ):
        there = {one for one in names if not _MADE.search(one)}
        wrong = sorted(there - known) + [f"{one} is missing" for one in sorted(needed - there)]
        if wrong:
            sys.exit(f"the {kind} has wrong contents: {', '.join(wrong)}")


def check_image(context: Path) -> None:
    """Raise SystemExit if what the image is built from lacks a file that the Dockerfile copies."""
    there = _names_in(context)
    _, stages = read_dockerfile()
    copied = [step.words for stage in stages for step in stage.steps if step.word == "COPY"]
    own = {one for words in copied if "--from" not in words[0] for one in words[:-1]}
    own.add("deployments/Dockerfile")
    there |= {str(folder) for name in there for folder in Path(name).parents}
    if lacking := own - there:
        sys.exit(f"the image cannot be built without {', '.join(sorted(lacking))}")


def _names_in(archive: Path) -> set[str]:
    with tarfile.open(archive) as tar:
        return {one.name for one in tar if not one.isdir()}


def check_same(folder: Path, other: Path) -> None:
    """Raise SystemExit if two builds differ in a byte."""
    names = {one.name for at in (folder, other) for one in at.iterdir()}
    differ = [n for n in sorted(names) if _bytes_of(folder / n) != _bytes_of(other / n)]
    if differ:
        sys.exit(f"two builds of this commit differ in {', '.join(differ)}")


def check_sdist(sdist: Path, wheel: Path, work: Path) -> None:
    """Raise SystemExit if the sdist builds another wheel."""
    if _bytes_of(wheel_of_sdist(sdist, work)) != _bytes_of(wheel):
        sys.exit("the wheel that the sdist builds differs from the wheel of the release")


def _bytes_of(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def check_install(version: str, wheel: Path, work: Path) -> None:
    """Install the wheel on a Python, and run the demo in an empty folder.

    Raises SystemExit if something is not as the README says.
    """
    python = make_environment(work / "environment", version, NEEDED)
    install(python, "--no-deps", "--no-index", str(wheel))
    subprocess.run([*UV, "pip", "check", "--quiet", "--python", python], check=True)
    (desk := work / "desk").mkdir()
    shutil.copy(ROOT / "configs" / "campaigns" / DEMO, desk)
    said = _callsheet(python, desk, "--version").strip()
    _same(f"callsheet --version on Python {version}", said, f"callsheet {project_version()}")
    how = ("--sandbox", "--yes", "--budget", "400", "--json", "--without-prefect")
    ran = json.loads(_callsheet(python, desk, "run", DEMO, *how))
    rows, charged = ran["rows"], ran["credits"]["charged"]
    _same(f"the demo on Python {version}", (rows["delivered"], charged), (ROWS, CREDITS))


def _callsheet(python: Path, folder: Path, *words: str) -> str:
    """Return what the installed program prints, with no setting of the person or of the tests."""
    kept = ("PATH", "TMPDIR", "LANG", "SSL_CERT_FILE")
    environ = {name: os.environ[name] for name in kept if name in os.environ}
    environ["HOME"] = str(folder)
    done = subprocess.run(
        [python.with_name("callsheet"), *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"callsheet {' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def _same(what: str, found: Any, wanted: Any) -> None:
    if found != wanted:
        sys.exit(f"{what}: {found}, not {wanted}")
