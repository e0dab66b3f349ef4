"""Another package called as one of ours: where it would be found it is named, folder and all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flows.packages import hidden_in
from tests.programs import ROOT


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("name", "module"),
    [("tasks", "flows.campaign"), ("tasks", "deployments.cli"), ("flows", "deployments.cli")],
)
@pytest.mark.parametrize("kind", ["package", "module"])
def test_a_package_that_hides_ours_is_named_with_its_folder(
    tmp_path: Path, name: str, module: str, kind: str
) -> None:
    if kind == "package":
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    else:
        (tmp_path / f"{name}.py").write_text("")
    done = run(tmp_path, "-c", f"import {module}")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: "), done.stderr
    assert f'"{name}" in {tmp_path}' in last
    assert "hides Callsheet's own" in last


def test_a_folder_of_other_things_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "deployments").mkdir()
    (tmp_path / "deployments" / "prefect.yaml").write_text("")
    assert hidden_in(tmp_path) == []
    assert hidden_in(ROOT) == []
    (tmp_path / "tasks.py").write_text("")
    assert hidden_in(tmp_path) == ["tasks"]


def test_no_process_of_ours_looks_for_packages_in_the_folder_that_people_work_in() -> None:
    """`python -m` does, unless it is told not to: beside a sheet there may be anything."""
    found = subprocess.run(
        ["git", "grep", "-n", "-E", r"(sys\.executable|python), \"-m\"", "--",
         "tasks", "flows", "deployments"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert found.stdout == ""
