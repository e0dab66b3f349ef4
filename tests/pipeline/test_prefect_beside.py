"""Prefect neither holds a run up nor ends it, whatever becomes of Prefect."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from callsheet.deployments.prefect_address import PrefectAddress
from callsheet.deployments.servers import PrefectServer
from callsheet.tasks.runtime.errors import CallsheetError
from tests.databases import take_ledger
from tests.programs import Desk, simple_sheet
from tests.web import Quiet, serving

pytestmark = pytest.mark.merge


def test_a_run_needs_no_prefect_that_cannot_start(desk: Desk, tmp_path: Path, name: str) -> None:
    home = tmp_path / ".callsheet"
    take_ledger(tmp_path)
    home.mkdir()
    # A file, where its server is to have a folder.
    (home / "prefect").write_text("")

    ended = desk.call("run", desk.sheet(f"{name}.csv", simple_sheet(2)), "--yes", "--json")

    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 2, "delivered": 2}
    assert "Prefect does not show this run, which continues without it" in ended.err


def test_videos_are_made_though_prefect_says_nothing_and_whoever_waits_for_it_may_leave(
    desk: Desk, name: str
) -> None:
    with _silent_server() as (url, asked):
        desk.environ["PREFECT_API_URL"] = url
        sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
        process = desk.start("run", sheet, "--yes", "--json")
        assert process.stderr is not None
        said = iter(process.stderr.readline, "")
        assert any("waiting until Prefect shows" in line for line in said)
        assert asked.wait(120)
        assert {row["state"] for row in desk.rows(name).values()} == {"delivered"}
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

    assert process.returncode == 0, err
    assert "left before Prefect had all of this run" in err
    assert "Traceback" not in err


def test_a_run_takes_no_strangers_server_for_its_own_which_has_ended() -> None:
    with _silent_server() as (url, _):
        at = PrefectAddress(url=url, stands_in="this run")
        assert PrefectServer(at).is_up()
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
            assert PrefectServer(at, child).is_up()
            child.kill()

        # It answers on the same port, and is healthy.
        assert at.answers()
        with pytest.raises(CallsheetError, match="the Prefect server of this run did not start"):
            PrefectServer(at, child).is_up()


@contextmanager
def _silent_server() -> Iterator[tuple[str, threading.Event]]:
    """Serve what says that it is healthy, and then nothing; say when it was asked for more."""
    asked, over = threading.Event(), threading.Event()

    class Silent(Quiet):
        def do_GET(self) -> None:
            if self.path.endswith("/health"):
                self.send_response(200)
                self.send_header("Content-Length", "4")
                self.end_headers()
                self.wfile.write(b"true")
                return
            asked.set()
            over.wait()

        do_POST = do_GET

    with serving(Silent) as url:
        try:
            yield f"{url}/api", asked
        finally:
            over.set()
