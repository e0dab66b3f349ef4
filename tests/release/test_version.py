"""The version is in one place."""

from __future__ import annotations

import pytest

from callsheet.deployments.parser import build_parser
from callsheet.tasks.runtime.process import own_version
from tests.release.version import PLACES, copies_of_version, project_version, write_version
from tests.repository import grep


def test_every_copy_is_the_version_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    copies = copies_of_version()
    assert {name for name, _ in copies} == set(PLACES)
    assert {found for _, found in copies} == {project_version()}, "python -m tests.release.version"
    assert own_version() == project_version()
    with pytest.raises(SystemExit):
        build_parser().parse_args(["--version"])
    assert capsys.readouterr().out == f"callsheet {project_version()}\n"


@pytest.mark.parametrize("what", [r"version\(.callsheet.\)", project_version().replace(".", r"\.")])
def test_no_other_file_has_it(what: str) -> None:
    folders = ("flows", "tasks", "deployments", "src", "docs", "configs", "README.md", "Makefile")
    found = grep("-I", "-l", "-w", "-E", what, paths=folders)
    assert set(found) - set(PLACES) <= {"tasks/runtime/process.py"}


@pytest.mark.parametrize("new", ["", "1.2", "v1.2.0", "1.2.0rc1", "1.2.0-rc.1"])
def test_what_is_no_version_is_refused_and_changes_nothing(new: str) -> None:
    with pytest.raises(SystemExit, match="three numbers"):
        write_version(new)
    assert {found for _, found in copies_of_version()} == {project_version()}
