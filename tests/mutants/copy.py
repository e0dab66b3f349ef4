"""A copy of the repository in which the program is changed, and tests are run until one is red."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.launcher import imports_of

ROOT = Path(__file__).parent.parent.parent
#: Seconds after which a test that is still on counts as red: a loop has lost its end.
PATIENCE = 600.0
#: A pytest that found nothing to run.
_NONE = 5


class Copy:
    """A tree of its own; one change at a time."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._changes = 0

    @contextmanager
    def changed(self, path: str, text: str) -> Iterator[None]:
        """Have a file say this meanwhile."""
        file = self.root / path
        before = file.read_text(encoding="utf-8")
        self._write(file, text)
        try:
            yield
        finally:
            self._write(file, before)

    def _write(self, file: Path, text: str) -> None:
        file.write_text(text, encoding="utf-8")
        # What is compiled of it is known by the second: no two versions share one.
        self._changes += 1
        at = file.stat().st_mtime_ns + self._changes * 10**9
        os.utime(file, ns=(at, at))

    def red(self, tests: Sequence[str], marks: str = "") -> str | None:
        """Run tests, those with marks, until one fails; return its name, or None for none."""
        words = ["-m", marks, "-x", "-q", "--tb=line", "-p", "no:cacheprovider"]
        with subprocess.Popen(
            [sys.executable, "-m", "pytest", *words, *tests],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": imports_of(self.root)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as pytest:
            try:
                said, _ = pytest.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(pytest.pid, signal.SIGKILL)
                return f"{tests[0]} and {len(tests) - 1} more: no end in {PATIENCE:.0f} s"
        if pytest.returncode in (0, _NONE):
            return None
        found = re.search(r"^(?:FAILED|ERROR) (\S+.*?)(?: - |$)", said, re.M)
        return found[1] if found else f"pytest could not begin: {said.strip()[-200:]}"


@contextmanager
def copied() -> Iterator[Copy]:
    """Copy the repository to a folder of its own, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="callsheet-mutants-") as folder:
        root = Path(folder) / "callsheet"
        words = ["git", "ls-files", "-co", "--exclude-standard"]
        known = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        for name in known.stdout.splitlines():
            # A file that was deleted and not committed is still named.
            if (ROOT / name).is_symlink() or (ROOT / name).exists():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, root / name, follow_symlinks=False)
        for installed in ROOT.glob(".venv*"):
            (root / installed.name).symlink_to(installed.resolve())
        yield Copy(root)
