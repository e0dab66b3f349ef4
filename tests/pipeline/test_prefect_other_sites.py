"""What a page of another site can do with the Prefect server that Callsheet starts: nothing."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.pipeline.conftest import GIVEN
from tests.prefect_servers import PrefectServer

pytestmark = [
    pytest.mark.merge,
    pytest.mark.prefect,
    pytest.mark.skipif(GIVEN in os.environ, reason="a server that Callsheet did not start"),
]


def test_foreign_names_and_pages_of_other_sites_are_refused(server: PrefectServer) -> None:
    port = urlsplit(server.url).port
    own, evil = f"127.0.0.1:{port}", f"evil.example:{port}"
    asked_as: list[tuple[dict[str, str], int]] = [
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
    for number, (headers, status) in enumerate(asked_as):
        name = f"asked-{number}"
        assert made_flow(server, name, headers) == status, headers
        assert is_known(server, name) == (status == 201), headers


def test_websockets_are_refused_alike(server: PrefectServer) -> None:
    port = urlsplit(server.url).port
    events = f"ws://127.0.0.1:{port}/api/events/in"
    for origin in (f"http://evil.example:{port}", "null"):
        with pytest.raises(InvalidStatus):
            connect(events, origin=origin, proxy=None)  # type: ignore[arg-type]
    with connect(events, proxy=None):
        pass


def made_flow(server: PrefectServer, name: str, headers: Mapping[str, str]) -> int:
    """Ask the server to create something, as these headers, and return the status."""
    return asked(server, "flows/", {"name": name}, headers)[0]


def is_known(server: PrefectServer, name: str) -> bool:
    """Return whether the server has created that."""
    wanted = {"flows": {"name": {"any_": [name]}}}
    found = asked(server, "flows/filter", wanted, {"Host": urlsplit(server.url).netloc})[1]
    return bool(json.loads(found))


def asked(
    server: PrefectServer, path: str, body: Mapping[str, object], headers: Mapping[str, str]
) -> tuple[int, bytes]:
    """Post to the server without a content type, which a page may do to any site."""
    at = urlsplit(server.url)
    line = http.client.HTTPConnection("127.0.0.1", at.port, timeout=30)
    try:
        line.request("POST", f"{at.path}/{path}", json.dumps(body).encode(), dict(headers))
        answer = line.getresponse()
        return answer.status, answer.read()
    finally:
        line.close()
