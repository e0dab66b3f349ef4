"""Parts that are tests of other folders: run by pytest in processes of their own, and counted."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from tests.programs import ROOT
from tests.repository import files_in
from tests.torture.result import Violation


@dataclass
class Tests:
    """How a run of tests ended: how many passed, and what failed, as violations."""

    passed: int = 0
    failed: list[Violation] = field(default_factory=list)
    seconds: float = 0.0


#: Which files hold tests, the slow ones too. Naming those beside their folder would not do: pytest
#: takes what lies in a folder that it is given as given already.
SLOW_TOO = "python_files=test_*.py *_torture.py"


def run_tests(paths: Sequence[str], *, marked: str = "") -> Tests:
    """Run the tests of some files or folders to their end, slow ones included.

    `marked` is pytest's expression for which of them; all unless told.
    """
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="callsheet-torture-") as folder:
        report = Path(folder) / "report.xml"
        words = ["-q", "-p", "no:cacheprovider", "-o", SLOW_TOO]
        words += ["-m", marked, f"--junitxml={report}", *paths]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        found = _read(report) if report.exists() else Tests()
    if done.returncode and not found.failed:
        words = ["pytest", *paths]
        told = f"the tests of {', '.join(paths)} could not be run: {done.stdout[-300:]}"
        found.failed.append(Violation(told, f"python -m {' '.join(words)}"))
    found.seconds = time.monotonic() - began
    return found


def slow_files(folder: str) -> list[str]:
    """Return the files of tests in a folder that no default run collects."""
    return [str(path.relative_to(ROOT)) for path in files_in(folder, of="*_torture.py")]


def _read(report: Path) -> Tests:
    found = Tests()
    # Written by the pytest that was just run, so there is nothing hostile in it.
    for case in ElementTree.parse(report).iter("testcase"):
        trouble = [child for child in case if child.tag in ("failure", "error")]
        if not trouble:
            found.passed += not Counter(child.tag for child in case)["skipped"]
            continue
        name = case.get("name", "")
        file = case.get("classname", "").replace(".", "/") + ".py"
        words = " ".join((trouble[0].get("message") or "").split())[:300]
        found.failed.append(
            Violation(f"{name}: {words}", f"python -m pytest -m '' '{file}::{name}'")
        )
    return found
