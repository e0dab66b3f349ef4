"""The Pythons that a release is installed on, and environments of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.launcher import ROOT
from tests.release.licenses import CONSTRAINTS, Pin

#: The oldest and the newest that pyproject.toml allows.
PYTHONS = ("3.11", "3.13")
UV = (sys.executable, "-m", "uv")
#: What `make install` installs without what only analyses cost.
NEEDED = (ROOT / "constraints.txt", ROOT / "constraints-sandbox.txt")


def find_python(version: str) -> Path:
    """Return a Python of a version, from the path or from pyenv; raise SystemExit without one."""
    for one in _pythons(version):
        program = "import sys; print('%d.%d' % sys.version_info[:2])"
        said = subprocess.run([one, "-c", program], capture_output=True, text=True)
        if said.stdout.strip() == version:
            return one
    sys.exit(f"the release is tried on Python {version}: install it on this machine")


def _pythons(version: str) -> Iterator[Path]:
    if found := shutil.which(f"python{version}"):
        yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python"))


def make_environment(folder: Path, version: str, files: Iterable[Path]) -> Path:
    """Make an environment with what is pinned in some files; return its Python."""
    python = folder / "bin" / "python"
    subprocess.run([*UV, "venv", "--quiet", "--python", find_python(version), folder], check=True)
    pins = [word for file in files for word in ("-r", str(file))]
    install(python, "--require-hashes", *pins)
    return python


def install(python: Path, *words: str) -> None:
    """Install into an environment."""
    subprocess.run([*UV, "pip", "install", "--quiet", "--python", python, *words], check=True)


def with_all(folder: Path, version: str) -> Path:
    """Install everything that is pinned on a Python; return the folder that it is in."""
    make_environment(folder, version, CONSTRAINTS)
    return next(folder.glob("lib/*/site-packages"))


def of_other_systems(folder: Path, pins: Iterable[Pin]) -> Path:
    """Unpack packages that no Python here needs, as Windows would; return their folder."""
    listed = folder.with_suffix(".txt")
    listed.write_text("\n".join(pin.lines for pin in pins))
    words = ("--target", str(folder), "--no-deps", "--require-hashes", "-r", str(listed))
    system = ("--python-platform", "x86_64-pc-windows-msvc", "--only-binary", ":all:")
    install(find_python(PYTHONS[0]), *words, *system)
    return folder
