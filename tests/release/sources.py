"""What a release is made of: the files of the commit, and archives of them that never differ."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

from tests.launcher import ROOT


def git(*words: str) -> bytes:
    """Return what git prints in this repository."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout


def commit_time() -> int:
    """Return when the commit was made, in Unix seconds: the time of every file of the release."""
    return int(git("log", "-1", "--format=%ct"))


def committed_files() -> list[str]:
    """Return the path of every file of the commit; raise SystemExit if a file differs from it."""
    if changed := git("status", "--porcelain").decode():
        sys.exit(f"a release is made of a commit. Commit or remove these files first:\n{changed}")
    return git("ls-tree", "-r", "--name-only", "-z", "HEAD").decode().split("\0")[:-1]


def check_out(folder: Path, names: Iterable[str]) -> None:
    """Put files or folders of the commit into a folder, readable for everybody."""
    folder.mkdir(parents=True)
    subprocess.run(
        ["tar", "--extract", "--no-same-permissions", "--directory", str(folder)],
        input=git("archive", "--format=tar", "HEAD", "--", *names),
        preexec_fn=lambda: os.umask(0o022) and None,
        check=True,
    )


def write_tar(path: Path, folder: Path, *, at: int) -> None:
    """Write all files of a folder as tar.gz: in order, owned by no one, all made at one time."""

    def plain(one: tarfile.TarInfo) -> tarfile.TarInfo:
        one.uid = one.gid = 0
        one.uname = one.gname = ""
        one.mtime = at
        return one

    names = sorted(str(one.relative_to(folder)) for one in folder.rglob("*"))
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=at) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name in names:
            tar.add(folder / name, name, recursive=False, filter=plain)
