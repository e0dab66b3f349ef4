"""What a run opens: the client it asks with reaches as far as the lanes it was given."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import pytest

from callsheet.tasks.engine.context import fitted, open_service
from callsheet.tasks.runtime.settings import load_settings


class Counting:
    """A server that answers nobody until `wanted` connections are open, or none more comes."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.open = self.peak = 0
        self.enough = asyncio.Event()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.peak = max(self.peak, self.open)
        if self.open >= self.wanted:
            self.enough.set()
        await reader.readuntil(b"\r\n\r\n")
        try:
            await asyncio.wait_for(self.enough.wait(), 5)
        except TimeoutError:
            self.enough.set()
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 14\r\n\r\n")
        writer.write(b'{"id":"vid_1"}')
        self.open -= 1
        writer.close()


@pytest.mark.parametrize(
    ("lanes", "at_once"),
    [
        ({}, 64),
        # Creates, cancels and downloads, and twice as many polls.
        ({"CALLSHEET_AT_ONCE": "40"}, 202),
    ],
)
async def test_the_client_has_a_connection_for_every_lane(tmp_path, lanes, at_once):
    counting = Counting(at_once)
    server = await asyncio.start_server(counting.handle, "127.0.0.1", 0, backlog=512)
    port = server.sockets[0].getsockname()[1]
    environ = {"CALLSHEET_BASE_URL": f"http://127.0.0.1:{port}/api/v1", **lanes}
    settings = load_settings(environ={**environ, "CALLSHEET_API_KEY": "mav_x1"}, folder=tmp_path)
    async with await open_service(settings, None, time.time) as service:
        await asyncio.gather(*(service.get("vid_1") for _ in range(at_once)))
    server.close()
    assert counting.peak == at_once


@pytest.mark.parametrize(
    ("limit", "wanted", "fitting"),
    [(None, 512, 512), (10_000, 512, 512), (1024, 512, 115), (64, 512, 1), (256, None, 8)],
)
def test_no_more_is_under_way_than_files_may_be_open(
    tmp_path, caplog, limit: int | None, wanted: int | None, fitting: int
):
    asked = {} if wanted is None else {"CALLSHEET_AT_ONCE": str(wanted)}
    settings = fitted(load_settings(environ=asked, folder=tmp_path), limit)
    assert settings.at_once == fitting
    assert ("`ulimit -n" in caplog.text) is (wanted is not None and fitting < wanted)


def test_the_limit_of_files_is_raised_as_far_as_it_goes():
    code = (
        "from resource import *; setrlimit(RLIMIT_NOFILE, (80, 300))\n"
        "from callsheet.tasks.runtime.process import raise_file_limit\n"
        "print(raise_file_limit(), *getrlimit(RLIMIT_NOFILE))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["300", "300", "300"]
