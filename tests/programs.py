"""The programs under test, as processes: the command line and the sandbox.

Nothing here reaches into them: what they say, how they end, and what the sandbox's own charge
log holds is all that a test gets to see.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.here import Finished, called_here, may_be_here
from tests.launcher import IMPORTS, Process, launcher

CALLSHEET = [sys.executable, "-m", "callsheet.deployments.cli"]
ROOT = Path(__file__).parent.parent


@dataclass
class Desk:
    """A folder somebody works in, with the environment they work with."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    #: Whether commands may run in this process, which has the program of this checkout and keeps
    #: files open for longer than a process of their own would.
    may_be_here: bool = True

    def sheet(self, name: str, text: str) -> str:
        """Write a sheet and return its name."""
        (self.folder / name).write_text(text)
        return name

    def workbook(self, name: str, text: str, *, hidden: Sequence[int] = ()) -> str:
        """Write a CSV as a workbook, some of its lines hidden, and return its name."""
        from openpyxl import Workbook

        book = Workbook()
        for row in csv.reader(text.splitlines()):
            book.active.append(row)
        for line in hidden:
            book.active.row_dimensions[line].hidden = True
        book.save(self.folder / name)
        return name

    def start(
        self,
        *words: str,
        stdin: int = subprocess.DEVNULL,
        hook: Mapping[str, Any] | None = None,
    ) -> Process:
        """Start a command and return its process; `hook` is an order to its crash points."""
        given: dict[str, Any] = {"cwd": self.folder, "env": self.environment(), "stdin": stdin}
        given |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return launcher().start(words, **given, hook=hook)

    def call(
        self,
        *words: str,
        timeout: float = 300,
        hook: Mapping[str, Any] | None = None,
        here: bool = False,
        stdin: IO[str] | None = None,
    ) -> Finished:
        """Run a command to its end. No command may ever show a traceback.

        In this very process where nothing but its words, its folder and its environment count:
        what is started, killed or asked by several threads is a process (`start`). `hook` is an
        order to its crash points (`tests.torture.hook`). `here` keeps a command that usually goes
        on for ever in this process, `stdin` is what is typed to one that is.
        """
        if here or (self.may_be_here and hook is None and may_be_here(words)):
            return called_here(words, self.folder, self.environment(), stdin)
        process = self.start(*words, hook=hook)
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
        assert "Traceback" not in out + err, out + err
        return Finished(process.wait(), out, err)

    def environment(self) -> dict[str, str]:
        """Return the environment of its commands: of Callsheet's settings only the desk's own."""
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CALLSHEET_", "PREFECT_"))
        }
        # Whoever runs the tests may be logged in to a service of their own.
        nobody = {
            "XDG_CONFIG_HOME": str(self.folder / ".config"),
            "XDG_STATE_HOME": str(self.folder / ".state"),
        }
        return {**clean, "PYTHONPATH": IMPORTS, **nobody, **self.environ}

    def run(self, sheet: str, *words: str, timeout: float = 300) -> Finished:
        """Run a campaign without Prefect, approved."""
        return self.call(
            "run", sheet, "--yes", "--json", "--without-prefect", *words, timeout=timeout
        )

    def leave_under_way(self, sheet: str, *words: str) -> Finished:
        """Run a sheet and leave it once all its creates have begun, while nothing is finished.

        A second may be too short for that on a machine that is busy.
        """
        until = time.monotonic() + 120
        while True:
            ended = self.run(sheet, *words, "--max-wait", "1s")
            assert ended.status == 5, ended.err
            if "approved" not in ended.json["rows"]:
                return ended
            assert time.monotonic() < until, ended.err

    def rows(self, campaign: str) -> dict[str, dict[str, Any]]:
        """Return the campaign's rows by id."""
        return {line["row"]: line for line in self.call("rows", campaign, "--json").lines}

    def states(self, campaign: str) -> dict[str, str]:
        """Return the state of each row of a campaign."""
        return {row: line["state"] for row, line in self.rows(campaign).items()}

    def kill(self, *words: str, at: str) -> Finished:
        """Run a command that is killed when it comes to a crash point."""
        order = {"trace": str(self.folder / "trace"), "point": at, "nth": 1, "linger": 0.0}
        return self.call(*words, hook=order)

    def lose_ledger(self, *stores: str) -> None:
        """Lose the ledger, and what the store says of these campaigns."""
        for file in (self.folder / ".callsheet").glob("ledger.db*"):
            file.unlink()
        for name in stores:
            (self.folder / "deliveries" / name / "manifest.json").unlink()

    def paid_once(self, campaign: str, service: Sandbox) -> bool:
        """Return whether the service has charged every row of a campaign, and none twice."""
        keys = [row["key"] for row in self.rows(campaign).values()]
        return service.charged(keys) == dict.fromkeys(keys, 1)


@dataclass
class Sandbox:
    """A running sandbox: its addresses and keys, and its own word on what was charged."""

    ready: Mapping[str, Any]
    process: Process

    @property
    def environ(self) -> dict[str, str]:
        """The settings that point at it."""
        return {
            "CALLSHEET_BASE_URL": self.ready["base_url"],
            "CALLSHEET_API_KEY": self.ready["api_key"],
        }

    def charges(self) -> list[dict[str, Any]]:
        """Return the charge log: append-only, and independent of our ledger."""
        return list(self._get("charges"))

    def calls(self) -> Mapping[str, int]:
        """Return how often each operation was called."""
        return dict(self._get("calls"))

    def creates(self) -> int:
        """Return how often a video was asked for."""
        return self.calls().get("create", 0)

    def balance(self) -> int:
        """Return the credits that are left; every test of the same sandbox spends of them."""
        return int(self._open("api/v1/credits")["data"]["available"])

    def charged(self, keys: Sequence[str]) -> Counter[str]:
        """Return how often each of these keys was charged."""
        wanted = set(keys)
        return Counter(
            entry["idempotency_key"]
            for entry in self.charges()
            if entry["event"] == "charge" and entry["idempotency_key"] in wanted
        )

    def bought(self) -> list[dict[str, Any]]:
        """Return the renders that were begun and not given back, whoever asked for them."""
        log = self.charges()
        released = {(e["video_id"], e.get("render")) for e in log if e["event"] == "release"}
        begun = [entry for entry in log if entry["event"] == "reserve"]
        return [
            entry for entry in begun if (entry["video_id"], entry.get("render")) not in released
        ]

    def plan_fault(self, **fault: Any) -> None:
        """Have something go wrong from now on; calls are counted from 1."""
        self._open("_sandbox/faults", fault)

    def empty_list(self) -> None:
        """Have its list show only what is made from now on, as that of a new organization."""
        self._open("_sandbox/list", method="DELETE")

    def clear_faults(self) -> None:
        """Have nothing go wrong any more."""
        self._open("_sandbox/faults", method="DELETE")

    def strikes(self) -> list[dict[str, Any]]:
        """Return what went wrong so far: on, call, do, video and key of each strike."""
        return list(self._get("faults/log"))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Call an operation as somebody else of the organisation would; return its data."""
        return self._open(f"api/v1/{path}", body)["data"]

    def patch(self, path: str, body: Mapping[str, Any]) -> None:
        """Change a record as somebody else of the organisation would."""
        self._open(f"api/v1/{path}", body, "PATCH")

    def video_digest(self, video_id: str) -> str:
        """Return the sha256 of a video's video, as the service hands it out."""
        address = self._open(f"api/v1/videos/{video_id}/download")["data"]["url"]
        with urllib.request.urlopen(address, timeout=30) as answer:
            return hashlib.sha256(answer.read()).hexdigest()

    def video(self, video_id: str) -> dict[str, Any]:
        """Return a video as the service shows it."""
        return dict(self._open(f"api/v1/videos/{video_id}")["data"])

    def delete(self, video_id: str) -> None:
        """Delete a video, as somebody else of the organisation would."""
        self._open(f"api/v1/videos/{video_id}", method="DELETE")

    def list_videos(self) -> list[dict[str, Any]]:
        """Return the first page of the organization's videos, as its list shows them."""
        return list(self._open("api/v1/videos")["data"]["videos"])

    def _get(self, what: str) -> Any:
        return self._open(f"_sandbox/{what}")

    def _open(
        self, path: str, body: Mapping[str, Any] | None = None, method: str | None = None
    ) -> Any:
        request = urllib.request.Request(
            f"{self.ready['auth_url']}/{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "authorization": f"Bearer {self.ready['api_key']}",
                "content-type": "application/json",
            },
            method=method,
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


#: The sandboxes that tests share at this moment.
RUNNING: list[Sandbox] = []


@contextmanager
def sandbox(state: Path, *options: str) -> Iterator[Sandbox]:
    """Run a sandbox; videos are instant copies unless the options say otherwise."""
    words = ["--port", "0", "--json", "--exit-with-parent", "--state", str(state)]
    if "--render" not in options:
        words += ["--render", "instant"]
    process = launcher("sandbox").start(
        [*words, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        running = Sandbox(json.loads(process.stdout.readline()), process)
        RUNNING.append(running)
        yield running
    finally:
        RUNNING[:] = [one for one in RUNNING if one.process is not process]
        process.terminate()
        process.wait(60)


def wait_until(holds: Callable[[], Any], seconds: float = 90) -> None:
    """Wait until something is so, on a machine that may be busy."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def kill_at_call(process: Process, service: Sandbox, count: int) -> bool:
    """Kill a process with SIGKILL at about its `count`-th call since now, quotes not counted.

    Returns whether it was still running: by calls and not by time, so that a fast machine and a
    slow one are hit in the same places.
    """
    before = _paid_side(service)
    while process.poll() is None and _paid_side(service) - before < count:
        time.sleep(0.005)
    alive = process.poll() is None
    if alive:
        process.send_signal(signal.SIGKILL)
    process.communicate()
    return alive


def _paid_side(service: Sandbox) -> int:
    return sum(count for name, count in service.calls().items() if name != "estimate")


def simple_sheet(count: int, *, title: str = "Video", columns: str = "", cells: str = "") -> str:
    """Return a CSV of `count` short tool rows, `r001` on."""
    lines = [f"id,tool,fields.product,title,duration_seconds,aspect_ratio{columns}"]
    lines += [
        f"r{n:03},product-launch,Kettle {n},{title} {n},5,9:16{cells}" for n in range(1, count + 1)
    ]
    return "\n".join(lines) + "\n"
