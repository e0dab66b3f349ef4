"""Inspects videos in processes of their own: when many come at once, and so that none ends a run.

Owns the processes and how long they may take. Each gets a line of JSON for a video and answers
with one: a video that took it over could answer with words and figures alone.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

from callsheet.tasks.runtime.errors import VideoError
from callsheet.tasks.store.inspection import Inspection, Wanted, inspect_video
from callsheet.tasks.store.pictures import Jpeg
from callsheet.tasks.values.briefs import CHECKS

#: `auto` starts them once it pays.
Use = Literal["auto", "yes", "no"]

log = logging.getLogger("callsheet.store")

#: It pays once so many videos have come while so many others were under way: to start it takes as
#: much of a processor as a hundred small videos.
_AFTER, _BESIDE = 64, 3
#: Processes at most, however many cores there are: each keeps some 70 MB.
_MOST = 4
#: Seconds one may take to be there, and to be gone after its last word.
_START, _LAST = 30.0, 1.0
#: Seconds for one video, of whatever size: far more than a usual one takes on a busy machine.
TIMEOUT = 60.0
#: Bytes of a video that get a second more: a disk on a slow network reads as much, and decoding a
#: long video takes longer.
_PACE = 1_000_000
#: No answer has more bytes.
_LONGEST = 1 << 24
#: What it sees of the environment: no key and no secret.
_ENVIRON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT")
#: Memory for one video is kept for the next. The system's C library (glibc) gives it back and has
#: it filled with zeros again each time, which is a third of what a small video costs.
_KEPT = {"MALLOC_MMAP_THRESHOLD_": str(16 << 20), "MALLOC_TRIM_THRESHOLD_": str(32 << 20)}


class Inspector:
    """Has videos inspected apart: `inspect` them, and `aclose` in the end. One event loop's own."""

    def __init__(
        self, use: Use = "auto", *, python: str = sys.executable, timeout: float = TIMEOUT
    ) -> None:
        cores = os.cpu_count() or 1
        self._possible = sys.platform != "win32" and (use == "yes" or (use == "auto" and cores > 1))
        self._after = 0 if use == "yes" else _AFTER
        self._python = python
        self._timeout = timeout
        self._slots = asyncio.Semaphore(min(cores, _MOST))
        self._idle: list[_Process] = []
        self._under_way = self._busy = 0

    @property
    def pids(self) -> list[int]:
        """The processes that wait for a video."""
        return [process.pid for process in self._idle]

    async def inspect(self, path: Path, pictures: Wanted) -> Inspection:
        """Return what `inspect_video` returns.

        Raises VideoError for a video that ends two processes.
        """
        self._under_way += 1
        try:
            self._busy += self._under_way > _BESIDE or not self._after
            pays = self._possible and self._busy > self._after
            found = await self._apart(path, pictures) if pays else None
            return await _here(path, pictures) if found is None else found
        finally:
            self._under_way -= 1

    async def aclose(self) -> None:
        """End the processes that wait; one that is busy ends with whoever waits for it."""
        self._possible = False
        while self._idle:
            await self._idle.pop().aclose()

    async def _apart(self, path: Path, pictures: Wanted) -> Inspection | None:
        """Return None where a video has to be inspected here."""
        seconds = self._timeout + _size_of(path) / _PACE
        async with self._slots:
            # A process can end for reasons of its own, also while it waits; a fresh one does not.
            for fresh in (False, True):
                try:
                    waiting = None if fresh or not self._idle else self._idle.pop()
                    process = waiting or await _Process.start(self._python)
                except (OSError, _Gone, TimeoutError) as error:
                    log.info("no process can inspect videos (%s): it is done here", error)
                    self._possible = False
                    return None
                with suppress(_Gone):
                    async with process.kept(self._idle):
                        return await process.ask(path, pictures, seconds)
        raise VideoError("the process that inspected the video did not survive it")


async def _here(path: Path, pictures: Wanted) -> Inspection:
    return await asyncio.get_running_loop().run_in_executor(
        _decoding_threads(), inspect_video, path, pictures
    )


@cache
def _decoding_threads() -> ThreadPoolExecutor:
    # To decode keeps a core busy: more at once would only take turns, and memory.
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="callsheet-look")


def _size_of(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


class _Gone(Exception):
    """the process ended"""


class _Process:
    """A process that inspects one video at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._orders, self._answers = process, process.stdin, process.stdout
        self.pid = process.pid

    @classmethod
    async def start(cls, python: str) -> _Process:
        """Return a process that is ready; raise _Gone, TimeoutError or OSError where none is."""
        environ = {name: os.environ[name] for name in _ENVIRON if name in os.environ} | _KEPT
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        # With -P nothing that lies about in the current folder passes for a module of ours; a
        # Ctrl-C in the terminal is for us alone.
        words = ("-P", "-m", "callsheet.tasks.store.inspector_main")
        made = cls(
            await asyncio.create_subprocess_exec(
                python, *words, stdin=pipe, stdout=pipe, stderr=nothing, env=environ,
                start_new_session=True, limit=_LONGEST,
            )
        )  # fmt: skip
        try:
            async with asyncio.timeout(_START):
                if not await made._answers.readline():
                    raise _Gone("it ended at once")
        except BaseException:
            await made.aclose()
            raise
        return made

    @asynccontextmanager
    async def kept(self, idle: list[_Process]) -> AsyncIterator[None]:
        """Keep the process among the `idle` ones if all goes well; else end it."""
        try:
            yield
        except VideoError:
            idle.append(self)
            raise
        except BaseException:
            await self.aclose()
            raise
        idle.append(self)

    async def ask(self, path: Path, pictures: Wanted, seconds: float) -> Inspection | None:
        """Have a video inspected; None where that has to be done here.

        Raises VideoError for what is no video, and _Gone where no answer that makes sense comes
        within so many seconds.
        """
        order = {"path": str(path), "pictures": pictures}
        try:
            self._orders.write(json.dumps(order).encode() + b"\n")
            async with asyncio.timeout(seconds):
                return _read_answer(json.loads(await self._answers.readline()))
        except TimeoutError:
            log.warning("a video was not inspected in %.0f s: its process is ended", seconds)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, OSError):
            log.warning("the process that inspects videos ended")
        raise _Gone

    async def aclose(self) -> None:
        """End it."""
        if self._answers.at_eof():
            # It ends by itself. A kill takes the exit status of a process that is dead from under
            # whoever waits for it.
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST):
                    await self._process.wait()
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


# What is said of a video, as JSON.


def answer_of(inspection: Inspection) -> dict[str, Any]:
    """Return an inspection as a document; `_inspection` reads it."""
    jpegs = {"poster": inspection.poster, "strip": inspection.strip}
    return {
        "video": [
            inspection.seconds,
            inspection.width,
            inspection.height,
            inspection.has_sound,
        ],
        "ai_mark": inspection.ai_mark,
        "findings": dict(inspection.findings),
        "shown": inspection.shown,
        **{
            kind: jpeg and [base64.b64encode(jpeg.data).decode(), jpeg.width, jpeg.height]
            for kind, jpeg in jpegs.items()
        },
    }


def _read_answer(said: dict[str, Any]) -> Inspection | None:
    if (wrong := said.get("wrong")) is not None:
        raise VideoError(str(wrong))
    return _inspection(said["inspection"]) if "inspection" in said else None


def _inspection(said: dict[str, Any]) -> Inspection:
    seconds, width, height, has_sound = said["video"]
    findings = said["findings"]
    return Inspection(
        seconds=float(seconds),
        width=int(width),
        height=int(height),
        has_sound=bool(has_sound),
        ai_mark="found" if said["ai_mark"] == "found" else "none",
        findings={check: str(findings[check]) for check in CHECKS if check in findings},
        poster=_jpeg(said["poster"]),
        strip=_jpeg(said["strip"]),
        shown=int(said["shown"]),
    )


def _jpeg(said: list[Any] | None) -> Jpeg | None:
    if said is None:
        return None
    data, width, height = said
    return Jpeg(base64.b64decode(data, validate=True), int(width), int(height))
