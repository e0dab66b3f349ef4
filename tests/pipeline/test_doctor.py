"""`callsheet doctor`: what is wrong with a place, and what helps."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from deployments.diagnosis.kept_ledger import ledger
from tasks.ledger.backup import schema_of
from tests.here import Here
from tests.programs import simple_sheet
from tests.unit.ledger.test_migrations import make_older

Parts = dict[str, list[dict[str, Any]]]


def found(here: Here, status: int) -> Parts:
    """Return what is found of each part."""
    done = here.call("doctor", "--json")
    assert (done.status, done.json["exit"]) == (status, status), done.out
    parts: Parts = {}
    for one in done.json["findings"]:
        parts.setdefault(one["part"], []).append(one)
    return parts


@contextmanager
def service_whose_clock_is(behind: timedelta, *, status: int = 200) -> Iterator[str]:
    """A service that takes every key, and believes that it is another moment."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response_only(status)
            self.send_header("Date", format_datetime(datetime.now(UTC) - behind, usegmt=True))
            self.send_header("Content-Length", "11")
            self.end_headers()
            self.wfile.write(b'{"data": []}'[:11])

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/api/v1"
    server.shutdown()
    server.server_close()


def test_a_place_that_is_well_is_said_to_be(here: Here) -> None:
    here.monkeypatch.setenv("PREFECT_API_URL", "")
    parts = found(here, 0)
    assert {part: {one["verdict"] for one in all_} for part, all_ in parts.items()} == {
        "versions": {"ok"},
        "packages": {"ok"},
        "files": {"ok"},
        "disk": {"ok"},
        "ledger": {"note"},
        "service": {"ok"},
        "clock": {"ok"},
        "store": {"ok"},
        "prefect": {"ok"},
    }
    said = here.call("doctor").out
    assert "ok    versions  Python 3." in said
    # Nothing is made to find out whether it can be.
    assert [*here.folder.iterdir()] == []


def test_what_is_wrong_comes_with_what_helps(here: Here) -> None:
    here.monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    here.monkeypatch.setenv("CALLSHEET_COLOUR", "red")
    here.monkeypatch.delenv("CALLSHEET_API_KEY")
    here.monkeypatch.setenv("CALLSHEET_WEBHOOK_URL", "http://127.0.0.1:9/hooks")
    (here.folder / "tasks.py").write_text("")
    (here.folder / "films").write_text("a file, and no folder")
    here.monkeypatch.setenv("CALLSHEET_STORE", str(here.folder / "films"))
    parts = found(here, 2)
    (hidden,) = parts["packages"]
    assert f'another package "tasks" in {here.folder}' in hidden["words"]
    assert "PYTHONSAFEPATH" in hidden["remedy"]
    assert "CALLSHEET_COLOUR" in parts["settings"][0]["words"]
    assert "callsheet login" in parts["service"][0]["remedy"]
    assert (parts["store"][0]["verdict"], parts["webhooks"][0]["verdict"]) == ("wrong", "note")
    assert "does not answer" in parts["prefect"][0]["words"]


@pytest.mark.parametrize(
    ("settings", "part", "words"),
    [
        ({"CALLSHEET_LEDGER": "mysql://h/d"}, "settings", "cannot live in mysql"),
        ({"CALLSHEET_API_KEY": "mav_nobodys"}, "service", "does not accept the key"),
        ({"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1"}, "service", "could not be reached"),
        ({"CALLSHEET_QUOTE_AGE": "soon"}, "settings", "CALLSHEET_QUOTE_AGE"),
    ],
)
def test_a_setting_that_leads_nowhere_is_named(
    here: Here, settings: dict[str, str], part: str, words: str
) -> None:
    here.monkeypatch.setenv("PREFECT_API_URL", "")
    for name, value in settings.items():
        here.monkeypatch.setenv(name, value)
    parts = found(here, 2)
    wrong = [one["words"] for one in parts[part] if one["verdict"] == "wrong"]
    assert any(words in one for one in wrong), parts


@pytest.mark.parametrize(
    ("behind", "words"),
    [(timedelta(hours=1), "behind this machine's"), (timedelta(hours=-1), "ahead of this")],
)
def test_a_clock_that_goes_wrong_is_said(here: Here, behind: timedelta, words: str) -> None:
    here.monkeypatch.setenv("PREFECT_API_URL", "")
    with service_whose_clock_is(behind) as address:
        here.monkeypatch.setenv("CALLSHEET_BASE_URL", address)
        (clock,) = found(here, 2)["clock"]
    assert words in clock["words"]
    assert "NTP" in clock["remedy"]


@pytest.mark.parametrize(
    ("status", "verdict"), [(405, "ok"), (200, "note"), (404, "note"), (502, "note")]
)
def test_a_way_for_webhooks_that_leads_to_no_receiver_is_said(
    here: Here, status: int, verdict: str
) -> None:
    here.monkeypatch.setenv("PREFECT_API_URL", "")
    with service_whose_clock_is(timedelta(), status=status) as address:
        here.monkeypatch.setenv("CALLSHEET_WEBHOOK_URL", f"{address}/hooks")
        (way,) = found(here, 0)["webhooks"]
    assert (way["verdict"], f"({status})" in way["words"]) == (verdict, True)


def test_a_ledger_that_does_not_add_up_or_is_everybodys_is_said(here: Here, name: str) -> None:
    here.monkeypatch.setenv("PREFECT_API_URL", "")
    (here.folder / f"{name}.csv").write_text(simple_sheet(1))
    assert here.call("plan", f"{name}.csv").status == 0
    assert here.call("run", f"{name}.csv", "--yes", "--without-prefect").status == 0
    file = here.folder / ".callsheet" / "ledger.db"

    sound, backup = found(here, 0)["ledger"]
    assert (sound["verdict"], "it adds up" in sound["words"]) == ("ok", True)
    assert (backup["verdict"], backup["words"]) == ("note", "it was never backed up")
    assert here.call("ledger", "backup", str(here.folder)).status == 0
    assert [one["verdict"] for one in found(here, 0)["ledger"]] == ["ok"]
    file.chmod(0o644)
    _spoil(file)
    parts = found(here, 2)
    assert "its account says" in parts["ledger"][0]["words"]
    assert (parts["files"][0]["verdict"], str(file) in parts["files"][0]["words"]) == ("note", True)


def _spoil(file: Path) -> None:
    database = sqlite3.connect(file)
    database.execute("UPDATE campaigns SET charged = charged + 1")
    database.commit()
    database.close()


def test_a_ledger_of_an_older_schema_is_left_as_it_is(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'ledger.db'}"
    make_older(address, "0011")
    (found,) = ledger(address)
    assert (found.verdict, "it has schema 0011" in found.words) == ("note", True)
    assert schema_of(address) == "0011"
