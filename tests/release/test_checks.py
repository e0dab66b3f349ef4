"""A release that is not as it has to be is refused, with a sentence."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.release.check import check_contents, check_image, check_same
from tests.release.licenses import Pin, all_pins, forbidden
from tests.release.sources import write_tar

#: Files of a commit, and what belongs into the archives.
FILES = ["src/callsheet/__init__.py", "tasks/one.py", "flows/two.py", "tests/x.py", "README.md"]
PROGRAM = ["__init__.py", "tasks/one.py", "flows/two.py"]


def wheel(folder: Path, *names: str) -> Path:
    with zipfile.ZipFile(folder / "callsheet-1.2.0.whl", "w") as made:
        for name in ("callsheet-1.2.0.dist-info/METADATA", *names):
            made.writestr(name, "")
    return folder / "callsheet-1.2.0.whl"


def tar(folder: Path, *names: str) -> Path:
    with tarfile.open(folder / "callsheet-1.2.0.tar.gz", "w:gz") as made:
        for name in names:
            made.addfile(tarfile.TarInfo(name), io.BytesIO())
    return folder / "callsheet-1.2.0.tar.gz"


def sdist(folder: Path, *names: str) -> Path:
    return tar(folder, *(f"callsheet-1.2.0/{one}" for one in ("PKG-INFO", "README.md", *names)))


WHOLE = {
    "wheel": [f"callsheet/{name}" for name in PROGRAM],
    "sdist": [f"src/callsheet/{name}" for name in PROGRAM],
}


@pytest.mark.parametrize(
    ("kind", "more", "less", "said"),
    [
        ("wheel", "tests/x.py", 0, "the wheel has wrong contents: src/tests/x.py$"),
        ("wheel", "callsheet/tasks/notes.txt", 0, "src/callsheet/tasks/notes.txt$"),
        ("wheel", None, 1, "src/callsheet/flows/two.py is missing$"),
        ("sdist", "tests/x.py", 0, "the sdist has wrong contents: tests/x.py$"),
        ("sdist", ".callsheet/ledger.db", 0, "ledger.db$"),
        ("sdist", None, 1, "src/callsheet/flows/two.py is missing$"),
    ],
)
def test_a_wrong_file_is_named(
    tmp_path: Path, kind: str, more: str | None, less: int, said: str
) -> None:
    names = {one: list(whole) for one, whole in WHOLE.items()}
    names[kind] = [*names[kind][: len(PROGRAM) - less], *([more] if more else [])]
    with pytest.raises(SystemExit, match=said):
        check_contents(wheel(tmp_path, *names["wheel"]), sdist(tmp_path, *names["sdist"]), FILES)


def test_an_image_without_what_its_dockerfile_copies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"without LICENSE, README.md, .*deployments/Dockerfile"):
        check_image(tar(tmp_path, "pyproject.toml", "src/callsheet/tasks"))


def test_an_archive_is_the_same_whoever_makes_it_and_when(tmp_path: Path) -> None:
    for name, at in (("one", 1.0), ("other", 2_000_000.0)):
        (folder := tmp_path / name / "files" / "tasks").mkdir(parents=True)
        for file in ("b.py", "a.py") if name == "one" else ("a.py", "b.py"):
            (folder / file).write_text("x = 1\n")
            os.utime(folder / file, (at, at))
        write_tar(tmp_path / name / "made.tar.gz", tmp_path / name / "files", at=77)
        (tmp_path / name / "files").rename(tmp_path / f"{name}-files")
    check_same(tmp_path / "one", tmp_path / "other")
    (tmp_path / "other" / "more.txt").touch()
    (tmp_path / "other" / "made.tar.gz").write_bytes(b"")
    with pytest.raises(SystemExit, match=r"differ in made.tar.gz, more.txt$"):
        check_same(tmp_path / "one", tmp_path / "other")


@pytest.mark.parametrize(
    ("license", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 AND MIT", True),
        ("MIT OR AGPL-3.0-only", True),
        ("MIT AND AGPL-3.0-only", False),
        ("MPL-2.0 AND (GPL-3.0-only OR MIT)", True),
        ("BSD License; Apache Software License", True),
        ("BSD License; Free for non-commercial use", False),
        ("PolyForm-Noncommercial-1.0.0", False),
        ("BUSL-1.1", False),
        ("Copyright 2026, a company", False),
        ("not said", False),
    ],
)
def test_only_licenses_that_are_listed_are_allowed(license: str, allowed: bool) -> None:
    found = forbidden({Pin("kettle", "1.0", ""): license})
    assert found == ([] if allowed else [f"kettle 1.0: {license}"])


def test_every_package_is_listed_once_for_every_system() -> None:
    pins = all_pins()
    assert len({pin[:2] for pin in pins}) == len(pins) > 120
    assert {"pywin32", "pyarrow", "imageio-ffmpeg"} <= {pin.name for pin in pins}
    assert [pin.name for pin in pins if ";" in pin.lines or "--hash=" not in pin.lines] == []
