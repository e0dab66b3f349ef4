"""The careful script: what a good engineer writes in a day around the same calls.

`python -m tests.bench.peers.careful BASE_URL ROWS AT_ONCE FOLDER` keeps a ledger with one durable
commit a step, asks for what a crash left under way again by its own key, checks video and captions,
syncs and renames what it keeps. No sheet, budget, pace, webhook, retry or report.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import queue
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import aiohttp
import pysubs2

from callsheet.tasks.store import inspect_video
from tests.bench.bare import KEY, all_of, brief

SCHEMA = """CREATE TABLE IF NOT EXISTS rows (
    n INTEGER PRIMARY KEY, state TEXT, credits INTEGER, body BLOB, video TEXT, sha256 TEXT)"""


class Ledger:
    """One SQLite file with one writer thread: whoever waits shares the next commit."""

    def __init__(self, path: Path) -> None:
        self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", SCHEMA):
            self._file.execute(statement)
        self._steps: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.run_in_executor(ThreadPoolExecutor(1, "ledger"), self._write)

    def delivered(self) -> set[int]:
        """Return the rows that an earlier run finished; to be asked before the first step."""
        found = self._file.execute("SELECT n FROM rows WHERE state = 'delivered'")
        return {n for (n,) in found}

    async def step(self, n: int, state: str, **values: Any) -> None:
        """Make one step of a row durable before going on."""
        names = "".join(f", {name} = ?" for name in values)
        done = self._loop.create_future()
        update = f"UPDATE rows SET state = ?{names} WHERE n = ?"
        self._steps.put((update, (state, *values.values(), n), done))
        await done

    async def quoted(self, n: int, credits: int) -> None:
        """Begin a row, unless an earlier run has."""
        done = self._loop.create_future()
        insert = "INSERT OR IGNORE INTO rows (n, state, credits) VALUES (?, 'quoted', ?)"
        self._steps.put((insert, (n, credits), done))
        await done

    async def close(self) -> None:
        """Close the file; every step has been awaited."""
        self._steps.put(None)
        await self._ended
        self._file.close()

    def _write(self) -> None:
        while (step := self._steps.get()) is not None:
            group = [step]
            while not self._steps.empty():
                group.append(self._steps.get())
            self._file.execute("BEGIN IMMEDIATE")
            for statement, values, _ in group:
                self._file.execute(statement, values)
            self._file.execute("COMMIT")
            self._loop.call_soon_threadsafe(_tell, [done for *_, done in group])


def _tell(waiting: list[asyncio.Future[None]]) -> None:
    for done in waiting:
        done.set_result(None)


class Script:
    """Makes videos: every step is in the ledger before the next one begins."""

    def __init__(self, base: str, session: aiohttp.ClientSession, ledger: Ledger, folder: Path):
        self._base, self._session, self._ledger, self._folder = base, session, ledger, folder
        self._disk = ThreadPoolExecutor(8, "disk")

    async def quote(self, n: int) -> None:
        """Ask what one row costs and write it down."""
        told = await self._ask("POST", f"{self._base}/videos/estimate", brief(n))
        await self._ledger.quoted(n, told["credits"])

    async def produce(self, n: int) -> None:
        """Make one video, check it, and keep it with its captions."""
        key = f"careful:{self._folder.name}:{n:05}"
        body = {**brief(n), "start_generation": True, "idempotency_key": key}
        await self._ledger.step(n, "submitting", body=json.dumps(body))
        made = await self._ask("POST", f"{self._base}/videos", body)
        await self._ledger.step(n, "rendering", video=made["id"])
        video = f"{self._base}/videos/{made['id']}"
        while (await self._ask("GET", video))["status"] != "completed":  # noqa: ASYNC110
            await asyncio.sleep(5)
        await self._ledger.step(n, "ready")
        address = (await self._ask("GET", f"{video}/download"))["url"]
        files = {"mp4": await self._send("GET", address)}
        for kind in ("srt", "vtt"):
            files[kind] = await self._send("GET", f"{video}/captions?format={kind}")
        keep = asyncio.get_running_loop().run_in_executor(self._disk, self._keep, n, files)
        await self._ledger.step(n, "delivered", sha256=await keep)

    async def _ask(self, method: str, address: str, body: Any = None) -> Any:
        return json.loads(await self._send(method, address, body))["data"]

    async def _send(self, method: str, address: str, body: Any = None) -> bytes:
        async with self._session.request(method, address, json=body) as answer:
            return await answer.read()

    def _keep(self, n: int, files: dict[str, bytes]) -> str:
        """Check and write the files of one row; return the video's digest."""
        place = self._folder / f"r{n:03}"
        place.mkdir(exist_ok=True)
        _sync(self._folder)
        for kind, data in files.items():
            part = place / f".{kind}.part"
            part.write_bytes(data)
            _sync(part)
            if kind == "mp4":
                inspect_video(part)
            elif not pysubs2.SSAFile.from_string(data.decode(), format_=kind):
                raise ValueError(f"row {n}: the {kind} captions hold no cue")
            part.rename(place / f"r{n:03}-take1.{kind}")
        _sync(place)
        return hashlib.sha256(files["mp4"]).hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


async def main(base: str, rows: int, at_once: int, folder: Path) -> float:
    """Quote and produce every row; return the seconds from the first create to the last video."""
    folder.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(folder.parent / "careful.db")
    async with aiohttp.ClientSession(headers=KEY, raise_for_status=True) as session:
        script, done = Script(base, session, ledger, folder), ledger.delivered()
        numbers = [n for n in range(1, rows + 1) if n not in done]
        await all_of((script.quote(n) for n in numbers), at_once=at_once)
        seconds = await all_of((script.produce(n) for n in numbers), at_once=at_once)
    await ledger.close()
    return seconds


if __name__ == "__main__":
    _, url, count, width, place = sys.argv
    print(asyncio.run(main(url, int(count), int(width), Path(place))))
