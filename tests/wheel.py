"""The wheel: built from what is in the repository, and put where programs import it from.

python -m tests.wheel FOLDER     build it, and unpack it into FOLDER/callsheet...
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Literal

from tests.launcher import ROOT

#: What a wheel is built from.
SOURCES = ("src", "flows", "tasks", "deployments", "pyproject.toml", "README.md", "LICENSE")


def build_wheel(folder: Path) -> Path:
    """Build the wheel into a folder, with the setuptools that is pinned; return its path.

    From a copy: setuptools leaves files beside the sources, and takes up those of the last time.
    """
    with tempfile.TemporaryDirectory(prefix="callsheet-wheel-") as copy:
        for name in SOURCES:
            if (source := ROOT / name).is_dir():
                ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
                shutil.copytree(source, Path(copy) / name, symlinks=True, ignore=ignore)
            else:
                shutil.copy(source, copy)
        return build("wheel", Path(copy), folder)


def build(kind: Literal["wheel", "sdist"], source: Path, folder: Path, **environ: str) -> Path:
    """Build from a folder or an sdist, with the setuptools that is pinned; return the file."""
    pinned = ("--build-constraints", str(ROOT / "constraints-build.txt"), "--require-hashes")
    words = ("build", "--quiet", f"--{kind}", *pinned, "--out-dir", str(folder), str(source))
    subprocess.run([sys.executable, "-m", "uv", *words], check=True, env=os.environ | environ)
    (built,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


def main(folder: Path) -> None:
    """Have the wheel's files in a folder, and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="callsheet-wheel-") as made:
        zipfile.ZipFile(build_wheel(Path(made))).extractall(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
