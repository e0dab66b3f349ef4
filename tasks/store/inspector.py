"""Inspects videos in a process of its own: when many come at once, and so that none ends a run.

Owns the process and how long it may take. Asks a line of JSON for a video and gets a line back: a
video that took the process over could answer with words and figures alone.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Literal

from callsheet.tasks.runtime.errors import VideoError
from callsheet.tasks.store.inspection import Inspection, Wanted, inspect_closely
from callsheet.tasks.store.pictures import Jpeg
from callsheet.tasks.store.video_file import VideoFile, decoding_threads
from callsheet.tasks.values.briefs import CHECKS

#: `auto` starts it once it pays.
Use = Literal["auto", "yes", "no"]

log = logging.getLogger("callsheet.store")

#: It pays once so many videos have come while so many others were under way: to start it takes as
#: much of a processor as a hundred small videos.
_AFTER, _BESIDE = 64, 3
#: Seconds it may take to be there, and to be gone after its last word.
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


async def inspect_apart(
    path: Path, pictures: Wanted, inspector: Inspector | None = None
) -> Inspection:
    """Do `inspect_closely` in the inspector's process, or in threads that do nothing else."""

    async def here() -> Inspection:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(decoding_threads(), inspect_closely, path, pictures)

    return await (here() if inspector is None else inspector.inspect(path, pictures, here=here))


class Inspector:
    """Has videos inspected apart: `inspect` them, and `aclose` in the end. One event loop's own."""

    def __init__(
        self, use: Use = "auto", *, python: str = sys.executable, timeout: float = TIMEOUT
    ) -> None:
        cores = os.cpu_count() or 1
        self._possible = sys.platform != "win32" and (use == "yes" or (use == "auto" and cores > 1))
        self._at_once = use == "yes"
        self._python = python
        self._timeout = timeout
        # As many as it has threads: none waits its turn there, and is late for it.
        self._slots = asyncio.Semaphore(cores)
        self._under_way = self._busy = 0
        self._starting: asyncio.Task[None] | None = None
        self._process: _Process | None = None

    @property
    def pid(self) -> int | None:
        """The process, if it is there."""
        return None if self._process is None else self._process.pid

    async def inspect(
        self, path: Path, pictures: Wanted, *, here: Callable[[], Awaitable[Inspection]]
    ) -> Inspection:
        """Return what `inspect_closely` returns; `here` does it in this process.

        Raises VideoError for a video that ends the process, also where it is its only one.
        """
        self._under_way += 1
        try:
            found = await self._apart(path, pictures) if await self._wanted() else None
            return await here() if found is None else found
        finally:
            self._under_way -= 1

    async def aclose(self) -> None:
        """End the process, whatever it is at."""
        self._possible = False
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        process, self._process = self._process, None
        if process is not None:
            await process.aclose()

    async def _apart(self, path: Path, pictures: Wanted) -> Inspection | None:
        seconds = self._timeout + await asyncio.to_thread(_size_of, path) / _PACE
        async with self._slots:
            process = await self._wanted()
            if process is None:
                return None
            with suppress(_Gone):
                return await process.ask(path, pictures, seconds)
            # Any of those it was at may have ended it: alone, each shows whether it does so.
            alone = await self._started()
            if alone is None:
                return None
            try:
                return await alone.ask(path, pictures, seconds)
            except _Gone:
                words = "the process that inspected the video did not survive it"
                raise VideoError(words) from None
            finally:
                await alone.aclose()

    async def _wanted(self) -> _Process | None:
        """Return the process where there is one; start one where it pays."""
        if self._process is not None and self._process.is_gone:
            self._process = self._starting = None
        self._busy += self._under_way > _BESIDE
        pays = self._possible and (self._at_once or self._busy > _AFTER)
        if pays and self._starting is None:
            self._starting = asyncio.create_task(self._start(), name="inspector")
        if self._at_once and self._starting is not None:
            await asyncio.wait([self._starting])
        return self._process

    async def _start(self) -> None:
        self._process = await self._started()
        # From now on every video waits for it: one that ended it would end the run.
        self._at_once = self._possible = self._process is not None

    async def _started(self) -> _Process | None:
        try:
            return await _Process.start(self._python)
        except (OSError, _Gone, TimeoutError) as error:
            log.info("no process can be started to inspect videos (%s): it is done here", error)
            return None


def _size_of(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


class _Gone(Exception):
    """the process ended"""


class _Process:
    """The process that inspects, and who waits for its answers."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._orders, self._answers = process, process.stdin, process.stdout
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reading: asyncio.Task[None] | None = None
        self.is_gone = False

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
                made.is_gone = not await made._answers.readline()
                if made.is_gone:
                    raise _Gone("it ended at once")
        except BaseException:
            await made.aclose()
            raise
        made._reading = asyncio.create_task(made._read(), name="inspector: answers")
        return made

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    async def ask(self, path: Path, pictures: Wanted, seconds: float) -> Inspection | None:
        """Have a video inspected; None where that has to be done here.

        Raises VideoError for what is no video, and _Gone for no answer within so many seconds: the
        process is then ended.
        """
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        order = {"number": number, "path": str(path), "pictures": pictures}
        try:
            if self.is_gone:
                raise _Gone
            self._orders.write(json.dumps(order).encode() + b"\n")
            async with asyncio.timeout(seconds):
                return _read_answer(await answer)
        except TimeoutError:
            log.warning("a video was not inspected in %.0f s: its process is ended", seconds)
            self._end()
            raise _Gone from None
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            self._end()
            raise _Gone from None
        finally:
            del self._waiting[number]

    async def aclose(self) -> None:
        """End it."""
        self._end()
        await (self._reading or self._wait())

    async def _read(self) -> None:
        try:
            while line := await self._answers.readline():
                said = json.loads(line)
                waiting = self._waiting.get(said["number"])
                if waiting is not None and not waiting.done():
                    waiting.set_result(said)
        except (ValueError, TypeError, KeyError, OSError):
            log.debug("the process that inspects videos said what is no answer")
        if not self.is_gone:
            log.warning("the process that inspects videos ended")
        self._forsake()
        await self._wait()

    async def _wait(self) -> None:
        # A kill takes the exit status of a process that is dead from under whoever waits for it.
        try:
            async with asyncio.timeout(_LAST):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def _end(self) -> None:
        if not self.is_gone:
            with suppress(ProcessLookupError):
                self._process.kill()
        self._forsake()

    def _forsake(self) -> None:
        self.is_gone = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(_Gone())


# What is said of a video, as JSON.


def answer_of(inspection: Inspection) -> dict[str, Any]:
    """Return an inspection as a document; `_inspection` reads it."""
    video = inspection.video
    jpegs = {"poster": inspection.poster, "strip": inspection.strip}
    return {
        "video": [video.seconds, video.width, video.height, video.has_sound],
        "findings": dict(inspection.findings),
        "shown": inspection.shown,
        **{
            kind: jpeg and [base64.b64encode(jpeg.data).decode(), jpeg.width, jpeg.height]
            for kind, jpeg in jpegs.items()
        },
    }


def _read_answer(said: dict[str, Any]) -> Inspection | None:
    if "wrong" in said:
        raise VideoError(str(said["wrong"]))
    return _inspection(said["inspection"]) if "inspection" in said else None


def _inspection(said: dict[str, Any]) -> Inspection:
    seconds, width, height, has_sound = said["video"]
    findings = said["findings"]
    return Inspection(
        VideoFile(float(seconds), int(width), int(height), bool(has_sound)),
        {check: str(findings[check]) for check in CHECKS if check in findings},
        _jpeg(said["poster"]),
        _jpeg(said["strip"]),
        int(said["shown"]),
    )


def _jpeg(said: list[Any] | None) -> Jpeg | None:
    if said is None:
        return None
    data, width, height = said
    return Jpeg(base64.b64decode(data, validate=True), int(width), int(height))
