"""The command line in this very process: the same words and exit statuses, without a start.

For tests of what a command does and says; how it behaves as a process is for `tests.programs`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from callsheet.deployments.cli import main
from tests.logs import logging_as_it_was
from tests.programs import Finished


@dataclass(frozen=True)
class Here:
    """A folder somebody works in, and where what is printed goes."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def work_with(self, environ: Mapping[str, str]) -> Here:
        """Take up the folder and the settings of an environment, and no others of Callsheet's."""
        self.monkeypatch.chdir(self.folder)
        for name in list(os.environ):
            if name.startswith("CALLSHEET_"):
                self.monkeypatch.delenv(name)
        for name, value in environ.items():
            self.monkeypatch.setenv(name, value)
        return self

    def call(self, *words: str) -> Finished:
        """Run a command to its end. No command may ever show a traceback."""
        self.capsys.readouterr()
        with logging_as_it_was(), pytest.raises(SystemExit) as ended:
            main(words)
        said = self.capsys.readouterr()
        assert "Traceback" not in said.out + said.err, said.out + said.err
        return Finished(int(ended.value.code or 0), said.out, said.err)
