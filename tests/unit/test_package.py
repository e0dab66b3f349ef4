"""The one package, `callsheet`: what programs import from it, and what hides nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import callsheet
from tests.launcher import IMPORTS
from tests.programs import ROOT
from tests.repository import PROGRAM, grep


def test_every_listed_name_is_there_and_no_other() -> None:
    assert all(getattr(callsheet, name) for name in callsheet.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'produce'"):
        callsheet.produce  # type: ignore[attr-defined]  # noqa: B018


def test_every_error_of_the_documentation_is_imported_from_the_package() -> None:
    documented = re.findall(r"^\|[ –]*`(\w+)`", (ROOT / "docs/errors.md").read_text(), re.MULTILINE)
    assert len(documented) > 30
    assert all(issubclass(getattr(callsheet, one), callsheet.CallsheetError) for one in documented)
    assert {*documented} <= {*callsheet.__all__}


@pytest.mark.parametrize("name", ["tasks", "flows", "deployments"])
def test_a_package_of_somebody_else_is_in_nobodys_way(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("WHOSE = 'theirs'\n")
    program = f"import callsheet.deployments.cli, {name}; print({name}.WHOSE)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{IMPORTS}"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "theirs\n", done.stderr


def test_no_process_of_ours_looks_for_packages_in_the_folder_that_people_work_in() -> None:
    """`python -m` does, unless it is told not to: beside a sheet there may be anything."""
    assert grep("-n", "-E", r"(sys\.executable|python), \"-m\"", paths=PROGRAM) == []
