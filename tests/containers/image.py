"""Builds the image without a container engine: the Dockerfile's own steps, each in a root.

The base is a clean Debian of its packages (debootstrap) in the place of the official Python image:
the same release, glibc and Python 3.11. Needs root and Linux.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from tests.containers.dockerfile import (
    Instruction,
    Stage,
    ignore_rules,
    ignored,
    read_dockerfile,
)
from tests.programs import ROOT

#: What the Python image has beside Debian's smallest system.
PACKAGES = "python3,python3-venv,python3-pip,python-is-python3,ca-certificates"
RELEASE = "bookworm"


def make_base(place: Path) -> None:
    """Make a clean root of Debian's packages, unless it is there."""
    if not (place / "usr" / "bin" / "python").exists():
        words = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", RELEASE, str(place)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def build(target: str, work: Path) -> Path:
    """Return the root of a stage, built with every stage that it takes something from."""
    arguments, stages = read_dockerfile()
    by_name = {stage.name: stage for stage in stages}
    root = work / target
    if root.exists():
        return root
    stage = by_name[target]
    below = build(stage.base, work) if stage.base in by_name else work / "base"
    assert stage.base in by_name or (stage.base == "${BASE}" and "BASE" in arguments)
    unfinished = work / f"{target}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    subprocess.run(["cp", "-a", str(below), str(unfinished)], check=True)
    _Building(stage, unfinished, work).execute(_inherited(stage, by_name))
    unfinished.rename(root)
    return root


def _inherited(stage: Stage, by_name: dict[str, Stage]) -> list[Instruction]:
    below = by_name.get(stage.base)
    return [*_inherited(below, by_name), *below.steps] if below else []


class _Building:
    """One stage on its way: where it is in the image, and with which environment."""

    def __init__(self, stage: Stage, root: Path, work: Path) -> None:
        self._stage, self._root, self._work = stage, root, work
        self._folder = "/"
        self._environ = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

    def execute(self, inherited: list[Instruction]) -> None:
        for step in inherited:
            if step.word in ("ENV", "WORKDIR"):
                self._take(step)
        for step in self._stage.steps:
            self._take(step)

    def _take(self, step: Instruction) -> None:
        if step.word == "ENV":
            self._environ |= step.pairs
        elif step.word == "WORKDIR":
            self._folder = step.text
            (self._root / step.text.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif step.word == "COPY":
            self._copy(shlex.split(step.text))
        elif step.word == "RUN":
            self._run(step.text)

    def _copy(self, words: list[str]) -> None:
        origin = next((one for one in words if one.startswith("--from=")), None)
        *sources, to = [one for one in words if not one.startswith("--")]
        below = build(origin.removeprefix("--from="), self._work) if origin else ROOT
        target = self._root / (to if to.startswith("/") else f"{self._folder}/{to}").lstrip("/")
        for source in sources:
            _copy_in(below / source.lstrip("/"), target, whole=to.endswith("/") or to == "./",
                     rules=[] if origin else ignore_rules(), below=below)  # fmt: skip

    def _run(self, line: str) -> None:
        # As an engine lends it: a network that finds names, and /proc.
        lent = [Path("/etc/resolv.conf"), *_certificates()]
        for file in lent:
            shutil.copy(file, self._root / file.relative_to("/"))
        pip = {name: value for name, value in os.environ.items() if name == "PIP_CERT"}
        inside = f"mount -t proc proc /proc && cd {self._folder} && {line}"
        words = [
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "/usr/sbin/chroot",
            str(self._root),
            "/bin/sh",
        ]
        subprocess.run([*words, "-c", inside], env={**self._environ, **pip}, check=True)


def _certificates() -> list[Path]:
    """A registry's mirror may have a certificate that only this machine knows."""
    bundle = Path("/etc/ssl/certs/ca-certificates.crt")
    return [bundle] if bundle.exists() else []


def _copy_in(source: Path, target: Path, *, whole: bool, rules: list[str], below: Path) -> None:
    if source.is_file():
        to = target / source.name if whole or target.is_dir() else target
        to.parent.mkdir(parents=True, exist_ok=True)
        assert not ignored(str(source.relative_to(below)), rules), f"{source} is not sent"
        shutil.copy2(source, to)
        return
    assert source.is_dir(), f"there is no {source} to copy"

    def leave_out(folder: str, names: list[str]) -> list[str]:
        at = Path(folder).relative_to(below)
        return [name for name in names if ignored(str(at / name), rules)]

    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, ignore=leave_out)
