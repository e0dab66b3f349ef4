"""What `make install` says to paste puts `callsheet` on the path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.programs import ROOT


def test_the_line_that_is_said_can_be_pasted(tmp_path: Path) -> None:
    venv = Path(sys.prefix)
    # What is installed already is not installed again.
    make = ["make", "-s", "-o", f"{venv}/.installed", "install", f"VENV={venv}"]
    said = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    pasted = "\n".join(line for line in said.splitlines() if line.startswith("  "))
    assert pasted.count("\n") == 1

    shell = subprocess.run(
        ["sh", "-c", f"{pasted}\ncommand -v callsheet && callsheet --version"],
        cwd=tmp_path,
        env={"PATH": os.defpath, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )

    assert shell.returncode == 0, shell.stderr
    assert shell.stdout.startswith(f"{tmp_path}/.local/bin/callsheet\ncallsheet ")
    assert said.splitlines()[-1].endswith("callsheet run SHEET --sandbox")
