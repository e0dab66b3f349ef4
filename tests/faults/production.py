"""A campaign of a few videos at a sandbox where things go wrong, and what must hold in the end.

The sandbox's own charge log and the files in the store are asked, not our ledger.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.launcher import Process
from tests.programs import Desk, Finished, Sandbox, simple_sheet

Read = Callable[[str], bytes]
#: For --max-wait: long enough to get as far as the fault, on a busy machine too.
A_WHILE = "5s"


@dataclass
class Production:
    """One campaign, its folder and its sandbox; `videos` is how many its sheet asks for."""

    desk: Desk
    service: Sandbox
    name: str
    videos: int = 0
    said: list[Finished] = field(default_factory=list)

    @property
    def sheet(self) -> str:
        return f"{self.name}.csv"

    @property
    def ledger(self) -> Path:
        return self.desk.folder / ".callsheet" / "ledger.db"

    @property
    def spool(self) -> Path:
        return self.desk.folder / ".callsheet" / "spool"

    @property
    def store(self) -> Path:
        return self.desk.folder / "deliveries"

    def asks_for(self, videos: int, **cells: str) -> Production:
        """Write a sheet of so many videos; the charge log knows them by their titles."""
        self.videos = videos
        self.desk.sheet(self.sheet, simple_sheet(videos, title=self.name, **cells))
        return self

    def run(self, *words: str, timeout: float = 120, **environ: str) -> Finished:
        """Run the campaign, approved; `environ` holds settings for this run alone."""
        desk = Desk(self.desk.folder, {**self.desk.environ, **environ})
        ended = desk.run(self.sheet, *words, timeout=timeout)
        self.said.append(ended)
        return ended

    def start(self, *words: str) -> Process:
        """Start such a run as a process that can be signalled."""
        return self.desk.start("run", self.sheet, "--yes", "--json", "--without-prefect", *words)

    def waits_for(self, happened: Callable[[], bool]) -> None:
        """Wait until something has happened at the sandbox."""
        until = time.monotonic() + 60
        while not happened():
            assert time.monotonic() < until
            time.sleep(0.02)

    def row(self, number: int = 1) -> dict[str, Any]:
        """Return a row by its number in the sheet."""
        return self.desk.rows(self.name)[f"r{number:03}"]

    def states(self) -> Counter[str]:
        """Return how many rows are in which state."""
        return Counter(row["state"] for row in self.desk.rows(self.name).values())

    def count(self, event: str) -> int:
        """Return how often the sandbox noted `event` (reserve, charge, release) for our videos."""
        log = self.service.charges()
        return sum(e["event"] == event and e["title"].startswith(f"{self.name} ") for e in log)

    def paid_once(self) -> bool:
        """Whether every video was charged, none twice, and nothing else was begun for us."""
        titles = [
            entry["title"]
            for entry in self.service.charges()
            if entry["event"] == "charge" and entry["title"].startswith(f"{self.name} ")
        ]
        begun = self.count("reserve") - self.count("release")
        return len(titles) == len(set(titles)) == begun == self.videos

    def ends_well(self, read: Read | None = None, **environ: str) -> None:
        """Let nothing go wrong any more, run again, and check everything there is to check."""
        self.service.clear_faults()
        ended = self.run(**environ)
        assert ended.status == 0, ended.err
        assert ended.json["rows"] == {"total": self.videos, "delivered": self.videos}
        if "nothing to do" not in ended.err:
            ended = self.run(**environ)
        assert "nothing to do, 0 credits" in ended.err
        self.is_whole(read)

    def is_whole(self, read: Read | None = None) -> None:
        """Check money, files and secrets of a campaign whose videos are all delivered."""
        assert self.paid_once(), self.service.charges()
        for row in self.desk.rows(self.name).values():
            assert [file["kind"] for file in row["deliveries"]] == ["mp4", "srt", "vtt"]
            for file in row["deliveries"]:
                self.still_has(file, read)
                if file["kind"] == "mp4":
                    assert file["sha256"] == self._true_video(row["video_id"])
        assert not list(self.half_written())
        secret = self.desk.environ["CALLSHEET_API_KEY"]
        assert not any(secret in f"{one.out}{one.err}" for one in self.said)

    def still_has(self, file: Mapping[str, Any], read: Read | None = None) -> None:
        """Check that a delivered file is where it was, with the bytes it had."""
        content = (read or _from_disk)(file["uri"])
        assert hashlib.sha256(content).hexdigest() == file["sha256"]

    def half_written(self) -> Iterator[Path]:
        """Yield what should not outlive a run: drafts in the store, downloads in the spool."""
        yield from (file for file in self.store.rglob("*") if file.name.startswith("."))
        if self.spool.exists():
            yield from self.spool.iterdir()

    def videos_in_the_store(self) -> Iterator[Path]:
        """Yield videos and captions of the campaign in a store that is a folder."""
        kinds = (".mp4", ".srt", ".vtt")
        yield from (file for file in self.store.rglob("*") if file.suffix in kinds)

    def time_passes(self, seconds: float) -> None:
        """Make what the ledger remembers so much older."""
        with closing(sqlite3.connect(self.ledger)) as ledger, ledger:
            for moment in ("intended_at", "accepted_at", "ready_at"):
                ledger.execute(f"UPDATE takes SET {moment} = {moment} - ?", (seconds,))

    def _true_video(self, video_id: str) -> str:
        """Return the fingerprint of a video's newest video, as the sandbox knows it."""
        return str(
            colleague(self.service, "GET", f"videos/{video_id}/renders")["renders"][0]["sha256"]
        )


def colleague(service: Sandbox, method: str, path: str) -> Any:
    """Call an operation as somebody else of the organisation would; return its data."""
    request = urllib.request.Request(
        f"{service.ready['base_url']}/{path}",
        headers={"authorization": f"Bearer {service.ready['api_key']}"},
        method=method,
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["data"]


def _from_disk(uri: str) -> bytes:
    return Path(uri).read_bytes()
