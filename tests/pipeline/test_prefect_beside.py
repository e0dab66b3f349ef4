"""Prefect neither holds a run of the command line up nor ends it, whatever becomes of Prefect."""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Mapping
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.pipeline.conftest import GIVEN
from tests.prefect_servers import PrefectServer
from tests.programs import Desk, Finished, simple_sheet
from tests.web import Quiet, serving

pytestmark = pytest.mark.merge

#: More than the command waits for Prefect at its end, on a machine that is busy.
SOON = 8.0


class Scripted(Quiet):
    """Answers as a server does whose flow run can be made, and then in one way."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path in ("/api/flows/", "/api/flow_runs/"):
            self.say(201, json.dumps({"id": "01a217f6-2a20-73d3-be01-259ae86f7b60"}))
        else:
            self.later()

    def later(self) -> None:
        """Answer whatever comes after the flow run was made."""

    def do_GET(self) -> None:
        self.later()

    do_PATCH = do_GET

    def say(self, status: int, text: str) -> None:
        """Answer."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


class Refusing(Scripted):
    """Takes no credentials."""

    def do_POST(self) -> None:
        self.say(401, "{}")


class Silent(Scripted):
    """Takes every request, and answers none."""

    def do_POST(self) -> None:
        time.sleep(60)


class Dead(Scripted):
    """Is gone once the flow run is made."""

    def later(self) -> None:
        self.close_connection = True


class Broken(Scripted):
    """Has lost its database by then."""

    def later(self) -> None:
        self.say(500, "")


class Choosy(Scripted):
    """Takes a flow run, and nothing of it."""

    def later(self) -> None:
        self.say(422, "too long")


class Slow(Scripted):
    """Takes half a second for each answer."""

    def later(self) -> None:
        time.sleep(0.5)
        self.say(200, json.dumps({"id": "7", "state": {"type": "RUNNING"}}))


def test_a_server_that_is_not_there_is_said_once(desk: Desk, name: str) -> None:
    ended = _run(desk, name, "http://127.0.0.1:9/api")

    words = "the Prefect server at http://127.0.0.1:9/api does not answer: the run continues"
    assert ended.err.count(words) == ended.err.count("Prefect") == 1


@pytest.mark.always
def test_a_server_that_refuses_the_key_is_said_once_and_the_key_is_not(
    desk: Desk, name: str
) -> None:
    desk.environ["PREFECT_API_KEY"] = "pnu_wrong_and_secret"
    with serving(Refusing) as url:
        ended = _run(desk, name, f"{url}/api")

    assert ended.err.count("refuses PREFECT_API_KEY: the run continues without it") == 1
    assert "set PREFECT_API_KEY (Prefect's cloud)" in ended.err
    assert "pnu_wrong" not in ended.err


@pytest.mark.parametrize("server", [Silent, Dead, Broken])
def test_a_server_that_answers_no_more_holds_up_nobody_for_long(
    desk: Desk, name: str, server: type[Scripted]
) -> None:
    desk.sheet(f"{name}.csv", simple_sheet(2))
    with serving(server) as url:
        desk.environ["PREFECT_API_URL"] = f"{url}/api"
        process = desk.start("run", f"{name}.csv", "--yes", "--json")
        while not process.stderr.readline().startswith("videos: "):
            assert process.poll() is None
        over = time.monotonic()
        out, err = process.communicate(timeout=60)

    assert time.monotonic() - over < SOON
    assert process.returncode == 0, err
    assert json.loads(out)["rows"] == {"total": 2, "delivered": 2}
    assert err.count("does not answer in time: it does not show the end of this run") == 1
    assert "Traceback" not in err


def test_a_server_that_is_slow_is_waited_for_at_the_end(desk: Desk, name: str) -> None:
    with serving(Slow) as url:
        ended = _run(desk, name, f"{url}/api")

    assert "Prefect" not in ended.err


@pytest.mark.always
def test_what_a_server_does_not_take_is_said_and_ends_nothing(desk: Desk, name: str) -> None:
    with serving(Choosy) as url:
        ended = _run(desk, name, f"{url}/api")

    assert "Prefect does not show all of this run" in ended.err
    assert "HTTP 422 too long" in ended.err


def _run(desk: Desk, name: str, url: str) -> Finished:
    """Run a sheet to its end, beside a server at an address."""
    desk.environ["PREFECT_API_URL"] = url
    ended = desk.call("run", desk.sheet(f"{name}.csv", simple_sheet(2)), "--yes", "--json")
    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 2, "delivered": 2}
    return ended


@pytest.mark.prefect
@pytest.mark.skipif(GIVEN in os.environ, reason="a server that Callsheet did not start")
def test_foreign_names_and_pages_of_other_sites_are_refused(server: PrefectServer) -> None:
    port = urlsplit(server.url).port
    own, evil = f"127.0.0.1:{port}", f"evil.example:{port}"
    headers: list[tuple[dict[str, str], int]] = [
        # A name that leads to this machine, as after DNS rebinding.
        ({"Host": evil}, 421),
        ({"Host": evil, "Origin": f"http://{evil}"}, 421),
        ({"Host": f"127.0.0.1.evil.example:{port}"}, 421),
        ({"Host": ""}, 421),
        # What a page elsewhere sends by itself, which needs no permission of the server first.
        ({"Host": own, "Origin": "http://evil.example"}, 403),
        ({"Host": own, "Origin": "null"}, 403),
        # Another program of this machine that serves pages.
        ({"Host": own, "Origin": "http://localhost:1"}, 403),
        # Its own pages, under either name, and programs.
        ({"Host": own, "Origin": f"http://localhost:{port}"}, 201),
        ({"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}, 201),
        ({"Host": own}, 201),
    ]
    for number, (said, status) in enumerate(headers):
        name = f"asked-{number}"
        assert posted(server, "flows/", {"name": name}, said)[0] == status, said
        wanted = {"flows": {"name": {"any_": [name]}}}
        known = json.loads(posted(server, "flows/filter", wanted, {"Host": own})[1])
        assert bool(known) == (status == 201), said


@pytest.mark.prefect
@pytest.mark.skipif(GIVEN in os.environ, reason="a server that Callsheet did not start")
def test_websockets_are_refused_alike(server: PrefectServer) -> None:
    port = urlsplit(server.url).port
    events = f"ws://127.0.0.1:{port}/api/events/in"
    for origin in (f"http://evil.example:{port}", "null"):
        with pytest.raises(InvalidStatus):
            connect(events, origin=origin, proxy=None)  # type: ignore[arg-type]
    with connect(events, proxy=None):
        pass


def posted(
    server: PrefectServer, path: str, body: Mapping[str, object], headers: Mapping[str, str]
) -> tuple[int, bytes]:
    """Post to the server without a content type, which a page may do to any site."""
    at = urlsplit(server.url)
    with closing(http.client.HTTPConnection("127.0.0.1", at.port, timeout=30)) as line:
        line.request("POST", f"{at.path}/{path}", json.dumps(body).encode(), dict(headers))
        answer = line.getresponse()
        return answer.status, answer.read()
