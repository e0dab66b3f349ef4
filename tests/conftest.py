"""Which tests are run by the same worker, when there are several, and how they are collected.

What takes long to set up is shared by the tests of a file, or of the files in `TOGETHER`. xdist's
own `--dist loadgroup` would say so by marks, but pytest 9.2 no longer lets it rename the tests.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

#: Files that begin so share sandboxes, a server of Prefect, or a reference run.
TOGETHER = ("tests/crash/", "tests/contract/test_client_", "tests/pipeline/test_prefect")


def pytest_configure(config: pytest.Config) -> None:
    # In the background of a script Ctrl-C is ignored, and so by every program that is started here.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Known only where xdist is installed and switched on.
    config.addinivalue_line("markers", "xdist_group(name): run by one worker")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without a look for garbage: thousands of tests are there to stay, and left alone."""
    gc.disable()
    try:
        _begin_elsewhere(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _begin_elsewhere(config: pytest.Config) -> None:
    """Have each of several workers import other files first.

    All of them import every file, and what one has compiled is there for the others.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None or [Path(one) for one in config.args] != [Path(__file__).parent]:
        return
    number = int(worker["workerid"].removeprefix("gw"))
    root = Path(__file__).parent
    files = sorted(root.rglob("test_*.py"))
    for path in files[number * len(files) // worker["workercount"] :]:
        name = ".".join(path.relative_to(root.parent).with_suffix("").parts)
        # What is wrong with it is told when it is collected.
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(name)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out whole files, in the order of their names: the short ones come last."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return next((start for start in TOGETHER if file.startswith(start)), file)

    config.option.loadscopereorder = False
    return ByFile(config, log)


@pytest.fixture(scope="session", autouse=True)
def nobodys_notes(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what a command notes for its person out of the home of whoever runs the tests."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
