"""Builds what a release consists of, from the commit: two builds are the same, byte for byte."""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.containers.dockerfile import ignore_rules, ignored
from tests.release.licenses import Pin, bill_of_materials
from tests.release.sources import check_out, commit_time, write_tar
from tests.release.version import project_version
from tests.wheel import SOURCES, build

#: With the modes that files have here, whatever the mask of the person is.
os.umask(0o022)


def build_release(
    folder: Path, files: Sequence[str], licenses: Mapping[Pin, str]
) -> dict[str, Path]:
    """Build everything into an empty folder; return the files by what they are."""
    name, at = f"callsheet-{project_version()}", commit_time()
    made = {
        "wheel": _wheel(folder, at),
        "sdist": _sdist(folder, at),
        "image": folder / f"{name}-image.tgz",
        "sbom": folder / f"{name}-sbom.json",
        "licenses": folder / f"{name}-licenses.csv",
    }
    sent = [one for one in files if not ignored(one, ignore_rules())]
    with tempfile.TemporaryDirectory(prefix="callsheet-image-") as work:
        check_out(Path(work) / "context", sent)
        write_tar(made["image"], Path(work) / "context", at=at)
    made["sbom"].write_text(bill_of_materials(licenses, at=at))
    with made["licenses"].open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(("package", "version", "license"))
        lines.writerows((pin.name, pin.version, said) for pin, said in sorted(licenses.items()))
    # From uv: what is built here is not to be committed.
    (folder / ".gitignore").unlink()
    sums = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}" for one in made.values()]
    (folder / "SHA256SUMS").write_text("\n".join([*sums, ""]))
    return made


def _wheel(folder: Path, at: int) -> Path:
    with tempfile.TemporaryDirectory(prefix="callsheet-wheel-") as work:
        check_out(Path(work) / "source", SOURCES)
        return build("wheel", Path(work) / "source", folder, SOURCE_DATE_EPOCH=str(at))


def _sdist(folder: Path, at: int) -> Path:
    with tempfile.TemporaryDirectory(prefix="callsheet-sdist-") as work:
        check_out(Path(work) / "source", SOURCES)
        (out := Path(work) / "out").mkdir()
        built = build("sdist", Path(work) / "source", out)
        # Setuptools notes who made it and when.
        with tarfile.open(built) as tar:
            tar.extractall(Path(work) / "content", filter="data")
        write_tar(folder / built.name, Path(work) / "content", at=at)
    return folder / built.name


def wheel_of_sdist(sdist: Path, folder: Path) -> Path:
    """Build the wheel from an sdist, as installers do; return it."""
    shutil.rmtree(folder, ignore_errors=True)
    return build("wheel", sdist, folder, SOURCE_DATE_EPOCH=str(commit_time()))
