"""Whoever reads the output may leave, and the disk may be full: a sentence at most, no fault."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.files import whole_file
from tests.campaigns import Stage, brief
from tests.launcher import IMPORTS

pytestmark = pytest.mark.merge


@pytest.fixture(scope="module")
def ledger_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A ledger with a campaign of one row."""
    url = f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'ledger.db'}"

    async def filled() -> None:
        async with await open_ledger(url) as ledger:
            await Stage.set(ledger, brief())

    asyncio.run(filled())
    return url


@contextmanager
def nobody() -> Iterator[int]:
    """A pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


@contextmanager
def full() -> Iterator[int]:
    handle = os.open("/dev/full", os.O_WRONLY)
    yield handle
    os.close(handle)


@pytest.mark.parametrize("words", ["schema", "rows spring", "rows spring --json"])
@pytest.mark.parametrize(
    ("stdout", "status", "told"), [(nobody, 0, ""), (full, 1, "callsheet: the disk is full")]
)
def test_output_that_cannot_be_written(ledger_url, words, stdout, status, told):
    environ = {**os.environ, "CALLSHEET_LEDGER": ledger_url, "PYTHONPATH": IMPORTS}
    environ.pop("PYTHONUNBUFFERED", None)
    assert callable(stdout)
    with stdout() as out:
        ended = subprocess.run(
            [sys.executable, "-m", "callsheet.deployments.cli", *words.split()],
            env=environ,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        )

    assert (ended.returncode, ended.stderr.partition("\n")[0]) == (status, told)
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("json", ["", "--json"])
def test_streams_that_are_closed(ledger_url, closed, json):
    ended = subprocess.run(
        f'"{sys.executable}" -m callsheet.deployments.cli rows spring {json} {closed}',
        env={**os.environ, "CALLSHEET_LEDGER": ledger_url, "PYTHONPATH": IMPORTS},
        shell=True,
        capture_output=True,
        text=True,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    assert bool(ended.stdout) == (">&-" not in closed.split())


@pytest.mark.parametrize(
    ("name", "told"), [("", "is a folder"), ("no/x.csv", "there is no folder")]
)
def test_a_file_that_cannot_be_written(tmp_path, name, told):
    with pytest.raises(BadInput, match=told) as refused, whole_file(tmp_path / name) as file:
        file.write(b"x")

    assert refused.value.remedy


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR)

    with whole_file(pipe) as file:
        file.write(b"x")

    assert os.read(reader, 1) == b"x"
    assert pipe.is_fifo()
    os.close(reader)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither")
def test_a_file_keeps_its_mode_and_a_link_its_place(tmp_path):
    private, link, new = (tmp_path / name for name in ("private", "link", "new"))
    private.touch(mode=0o600)
    link.symlink_to(private)
    before = os.umask(0o022)
    try:
        for path in (link, new):
            with whole_file(path) as file:
                file.write(b"x")
    finally:
        os.umask(before)

    assert (link.is_symlink(), private.read_bytes()) == (True, b"x")
    assert [path.stat().st_mode & 0o777 for path in (private, new)] == [0o600, 0o644]
