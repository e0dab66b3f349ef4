"""Which tests are run by the same fork, when there are several, and how they are collected.

What takes long to set up is shared by the tests of a file, or of the files in `TOGETHER`.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.forks import groups_of, run_in_forks
from tests.launcher import PLACE
from tests.logs import logging_as_it_was

if TYPE_CHECKING:
    from playwright.async_api import Browser

    from tests.databases import PostgresServer

#: Files that begin so share sandboxes, a server of Prefect, or a reference run. A server of Prefect
#: costs ten seconds of a processor, and one for all would have a single fork busy to the end.
TOGETHER = (
    ("tests/crash/",),
    ("tests/contract/test_client_",),
    (
        "tests/pipeline/test_prefect_served.py",
        "tests/pipeline/test_prefect_by_hand.py",
        "tests/pipeline/test_board_settings.py",
    ),
    (
        "tests/pipeline/test_prefect_wheel.py",
        "tests/pipeline/test_prefect_nights.py",
        "tests/pipeline/test_prefect_shown.py",
    ),
    ("tests/pipeline/test_prefect",),
)
#: What takes longest from its first test to its last is begun first.
FIRST = (
    "tests/pipeline/test_prefect",
    "tests/site/test_tutorials.py",
    "tests/board/test_producers_afternoon.py",
    "tests/pipeline/test_edits.py",
    "tests/board/test_screens_in_a_browser.py",
    "tests/guards/test_secrets_everywhere.py",
    "tests/pipeline/test_next_release.py",
    "tests/pipeline/test_ways_on.py",
    "tests/board/test_plans.py",
    "tests/workers/",
    "tests/crash/",
    "tests/faults/test_waiting.py",
    "tests/faults/test_refusals.py",
    "tests/contract/test_login.py",
    "tests/contract/test_client_",
    "tests/up/",
)
#: Files of tests of what holds where several change a ledger at once.
LOCKS = (
    "tests/pipeline/test_at_once.py",
    "tests/unit/ledger/test_accounts.py",
    "tests/unit/ledger/test_board_plans.py",
    "tests/unit/ledger/test_group_commit.py",
    "tests/unit/ledger/test_leases.py",
    "tests/unit/ledger/test_productions.py",
)
#: Files of tests that go in by a door, with programs on the other side.
DOORS = (
    "tests/board/",
    "tests/contract/",
    "tests/mcp/",
    "tests/pipeline/",
    "tests/receiver/",
)
#: Files that begin so wait for programs more than they keep a processor busy.
WAITING = ("board", "contract", "workers", "faults", "pipeline", "receiver", "up")


def pytest_configure(config: pytest.Config) -> None:
    # In the background of a script Ctrl-C is ignored, and so by every program that is started here.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Forks come to have it with the environment.
    os.environ[PLACE] = tempfile.mkdtemp(prefix="callsheet-launchers-")
    config.add_cleanup(_leave_place)


def _leave_place() -> None:
    """End what this run's processes had in common."""
    place = Path(os.environ.pop(PLACE))
    if (place / "postgres.json").exists():
        from tests.databases import end_shared_postgres

        end_shared_postgres(place)
    shutil.rmtree(place, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without a look for garbage: thousands of tests are there to stay, and left alone."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        # Whoever tests nothing that has a ledger need not import it.
        if "sqlalchemy" in sys.modules:
            from tests.compiled import share

            share()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to later what the first case of a test has shown; have the processors busy."""
    _leave_cases(items)
    if config.option.forks:
        _mix(items)


def _leave_cases(items: list[pytest.Item]) -> None:
    """Mark what need not be waited for at each change.

    Of a test at a door, the first case runs each time, and the others before a change lands. What
    runs on SQLite too runs on PostgreSQL once before a change lands, and with its other cases among
    the slow tests: every statement is run there, and what cases decide is the same on both. Where
    locks are what is tested (`LOCKS`), it is not left to later.
    """
    cases: Counter[tuple[str, bool]] = Counter()
    for item in items:
        if not hasattr(item, "callspec"):
            continue
        test, _, case = item.nodeid.partition("[")
        on_postgres = "postgres" in case
        cases[test, on_postgres] += 1
        if on_postgres and not test.startswith(LOCKS):
            item.add_marker("merge" if cases[test, True] == 1 else "slow")
        elif cases[test, on_postgres] > 1 and (on_postgres or test.startswith(DOORS)):
            item.add_marker("slow" if on_postgres else "merge")


def _mix(items: list[pytest.Item]) -> None:
    """Have files in an order in which there is always something to do for a processor."""
    files = dict.fromkeys(_file_of(item.nodeid) for item in items)
    first = [file for start in FIRST for file in files if file.startswith(start)]
    rest = [file for file in files if file not in set(first)]
    waiting = [file for file in rest if file.split("/")[1] in WAITING]
    busy = [file for file in rest if file not in set(waiting)]
    # Evenly mixed; a few that are busy, and short, are there for the end.
    places = {file: 0.95 * number / len(waiting) for number, file in enumerate(waiting)}
    places |= {file: number / len(busy) for number, file in enumerate(busy)}
    places |= {file: number - len(files) for number, file in enumerate(first)}
    items.sort(key=lambda item: places[_file_of(item.nodeid)])


def _file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Have forks run the tests where there is to be more than one process."""
    option = session.config.option
    if not option.forks or option.collectonly or session.testsfailed:
        return None
    run_in_forks(session, groups_of(session.items, _group_of), option.forks)
    return True


def _group_of(item: pytest.Item) -> str:
    file = _file_of(item.nodeid)
    return next((starts[0] for starts in TOGETHER if file.startswith(starts)), file)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Leave logging as it was, whatever a test calls."""
    with logging_as_it_was():
        return (yield)


@pytest.fixture(scope="session")
def made_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite ledger with nothing in it, to be copied: quicker than to be made."""
    # Costs a second of import, which the process that hands out tests need not pay.
    from tests.databases import make_ledger

    path = tmp_path_factory.mktemp("made") / "ledger.db"
    make_ledger(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The PostgreSQL that all processes of tests share."""
    from tests.databases import postgres_server

    with postgres_server() as server:
        yield server


@pytest.fixture
async def chromium() -> AsyncIterator[Browser]:
    """A real browser."""
    from tests.browser import open_browser

    async with open_browser() as browser:
        yield browser


@pytest.fixture(scope="session", autouse=True)
def nobodys_notes(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what a command notes for its person out of the home of whoever runs the tests."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(autouse=True)
def organization_of_its_own() -> None:
    """Have each test begin with nothing in the list of the sandboxes that it shares with others.

    In one organization a sheet with the texts of another test's may be that one, of a lost ledger.
    """
    programs = sys.modules.get("tests.programs")
    for one in programs.RUNNING if programs else ():
        with suppress(OSError):
            one.empty_list()
