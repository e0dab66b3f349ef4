"""A sheet that is piped in."""

from __future__ import annotations

import fcntl
import json
import signal
import struct
import subprocess
import termios
import time

from tests.programs import Desk, simple_sheet


def test_a_sheet_may_come_from_standard_input(desk: Desk, name: str) -> None:
    process = desk.start(
        "run", "-", "--campaign", name, "--yes", "--without-prefect", stdin=subprocess.PIPE
    )
    _, err = process.communicate(simple_sheet(1), timeout=60)

    assert process.returncode == 0, err
    assert desk.rows(name)["r001"]["state"] == "delivered"


def test_a_sheet_that_is_being_typed_is_left_at_once(desk: Desk) -> None:
    process = desk.start("check", "-", "--campaign", "typed", "--json", stdin=subprocess.PIPE)
    process.stdin.write("id,tool\n")
    process.stdin.flush()
    # It has read the first line, and waits for more.
    while _unread(process.stdin.fileno()):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    try:
        status = process.wait(timeout=30)
    finally:
        process.kill()
        out, err = process.communicate()

    again = "run the same command again to continue"
    told = {"error": "stopped", "exit": 5, "spent": None, "remedy": again}
    assert (status, json.loads(out)) == (5, told)
    assert err == "stopped; run the same command again to continue\n"


def _unread(pipe: int) -> int:
    return int(struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0])
