"""What is heard of a night: pings, a digest of what it made, and nothing where nothing was."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.programs import Desk, simple_sheet

TOML = """\
[inbox.{name}]
place = "sheets"
approval = "auto"
per_night = 100
notify = ["env:NIGHT_HOOK"]
ping = "env:NIGHT_PING"
"""


class Listener:
    """A server that people's addresses lead to; `heard` is what came, in its order."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []
        heard = self.heard

        class Answer(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                document: Any = json.loads(body) if self.path == "/hook" else None
                heard.append((self.path, document["title"] if document else body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.place = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self) -> list[tuple[str, str]]:
        """Return what was heard since it was asked last."""
        found = self.heard[:]
        self.heard.clear()
        return found


@pytest.fixture
def listener(desk: Desk, name: str) -> Iterator[Listener]:
    (desk.folder / "sheets").mkdir()
    (desk.folder / "nights.toml").write_text(TOML.format(name=name))
    found = Listener()
    desk.environ["NIGHT_HOOK"] = f"json://{found.place}/hook"
    desk.environ["NIGHT_PING"] = f"http://{found.place}/ping"
    yield found
    found.close()


def drop(desk: Desk, name: str) -> None:
    """Put a sheet into the inbox, as of a minute ago: it is whole at the first look."""
    sheet = desk.folder / "sheets" / f"{name}.csv"
    sheet.write_text(simple_sheet(1))
    os.utime(sheet, (time.time() - 60,) * 2)


def test_a_night_is_told_once_and_one_without_anything_new_not_at_all(
    desk: Desk, listener: Listener, name: str
) -> None:
    drop(desk, name)

    assert desk.call("nightly", name, here=True).status == 0

    start, (place, subject), end = listener.take()
    assert (start[0], end[0]) == ("/ping/start", "/ping")
    assert (place, subject) == ("/hook", f"{name}: 1 of 1 video ready, 15 credits")
    again = desk.call("nightly", name, "--json", here=True)
    assert (again.status, again.json["charged"]) == (0, 0)
    assert [path for path, _ in listener.take()] == ["/ping/start", "/ping"]
    due = desk.call("nights", "digest", "--json")
    assert (due.status, due.json) == (0, {"sent": []})
    assert listener.take() == []


def test_a_night_that_fails_as_a_whole_is_an_alarm(
    desk: Desk, listener: Listener, name: str
) -> None:
    drop(desk, name)
    (desk.folder / "no-folder").write_text("a file")
    desk.environ["CALLSHEET_STORE"] = str(desk.folder / "no-folder" / "videos")

    assert desk.call("nightly", name, here=True).status == 2

    found = listener.take()
    assert [path for path, _ in found] == ["/ping/start", "/ping/fail", "/hook"]
    assert found[-1][1].startswith(f"{name}: the nightly run failed")


def test_a_sample_goes_to_every_address_and_shows_none(desk: Desk, listener: Listener) -> None:
    done = desk.call("nights", "test", "--json")

    (sent,) = done.json["sent"]
    assert (done.status, sent["sent"], sent["kind"]) == (0, True, "sample")
    assert listener.place not in done.out + done.err
    ((place, _),) = listener.take()
    assert place == "/hook"
    desk.environ["NIGHT_HOOK"] = "json://127.0.0.1:9/hook"
    failed = desk.call("nights", "test", "--json")
    assert (failed.status, failed.json["sent"][0]["sent"]) == (1, False)
