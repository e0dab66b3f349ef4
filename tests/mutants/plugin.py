"""Turns the recorder of lines to each test, and notes how long it takes and who runs it.

RECORDED_LINES=FOLDER python -m pytest -p tests.mutants.plugin      FOLDER is an empty folder
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.mutants.lines import FOLDER, SECONDS, Recorder

_RECORDER = pytest.StashKey[Recorder]()


def pytest_configure(config: pytest.Config) -> None:
    recorder = Recorder(Path(os.environ[FOLDER]))
    recorder.listen()
    config.stash[_RECORDER] = recorder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Record a test with its fixtures, how long it took, and which `make` runs it."""
    recorder, began = item.config.stash[_RECORDER], time.monotonic()
    recorder.turn_to(item.nodeid)
    try:
        return (yield)
    finally:
        recorder.leave()
        with (recorder.folder / SECONDS).open("a") as times:
            is_left = item.get_closest_marker("merge") and not item.get_closest_marker("always")
            part = "merge" if is_left else "test"
            times.write(f"{item.nodeid}\t{part}\t{time.monotonic() - began:.3f}\n")
