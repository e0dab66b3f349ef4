"""Runs that are stopped, frozen, doubled or repeated, and services that go away under them."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from tests.faults.production import Production
from tests.programs import Desk, sandbox, simple_sheet

pytestmark = pytest.mark.merge


def test_a_service_that_goes_down_and_comes_back_is_waited_for(tmp_path: Path) -> None:
    state = tmp_path / "service"
    with sandbox(state) as first:
        port = str(urlsplit(first.ready["auth_url"]).port)
        production = Production(Desk(tmp_path, first.environ), first, "c-down").asks_for(3)
        first.plan_fault(on="create", nth=2, do="crash-after")
        process = production.start()
        assert first.process.wait(60) == 137
    # Nobody listens for a while: connections are refused.
    time.sleep(1)
    with sandbox(state, "--port", port) as back:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        Production(production.desk, back, production.name, videos=3).ends_well()


def test_a_sheet_edited_after_a_kill_does_not_change_what_was_sent(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="create", do="hang")
    process = production.start()
    production.waits_for(lambda: production.count("reserve") == 1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    production.service.clear_faults()
    edited = simple_sheet(1, title=production.name).replace("Kettle", "Teapot")
    production.desk.sheet(production.sheet, edited)

    resumed = production.run()

    # The video that was paid for is finished as it was asked for, under its own key.
    assert resumed.status == 0, resumed.err
    assert production.row()["take"] == 1
    assert production.count("reserve") == production.count("charge") == 1
    # Only the next run takes the edit up, as another video at a price of its own.
    assert production.run().status == 0
    assert production.row()["take"] == 2
    assert production.count("reserve") == production.count("charge") == 2


def test_a_run_that_is_frozen_goes_on_where_it_was(production: Production) -> None:
    production.asks_for(2)
    production.service.plan_fault(on="render", do="slow", seconds=2)
    process = production.start()
    production.waits_for(lambda: production.count("reserve") == 2)
    # All of it stands still, its loop too, while videos get ready and connections grow old.
    process.send_signal(signal.SIGSTOP)
    time.sleep(2.5)
    process.send_signal(signal.SIGCONT)

    _, err = process.communicate(timeout=120)

    assert process.returncode == 0, err
    production.ends_well()


def test_a_second_process_that_hangs_holds_up_no_video(production: Production) -> None:
    production.asks_for(12)
    settings = {"CALLSHEET_SECOND_PROCESS": "yes", "CALLSHEET_SECOND_PROCESS_TIMEOUT": "1s"}
    # One video after the other: some are left when the process stops.
    production.desk.environ |= {**settings, "CALLSHEET_AT_ONCE": "1"}
    process = production.start()
    production.waits_for(lambda: any(production.videos_in_the_store()))
    (second,) = (
        child
        for child in psutil.Process(process.pid).children(recursive=True)
        if "inspector_main" in " ".join(child.cmdline())
    )
    second.suspend()

    _, err = process.communicate(timeout=120)

    assert process.returncode == 0, err
    assert "a video was not inspected in 1 s" in err
    assert not second.is_running()
    production.ends_well()
