"""Runs work in a second process while there is much of it.

Values are pickled, answers only of known kinds.

All threads of one process share the interpreter's lock: what looks at videos and writes them
holds up the event loop. Owns the second process: it is started once it pays, dies with this one,
and is started again a few times should it die. A process that does not answer in time is ended:
it may be stopped, or a video may hang it. Nothing is believed that it did not answer: whatever it
was at is then done here, as is everything where it cannot be had.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import pickle
import socket
import struct
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from callsheet.tasks.runtime.crash_points import crashpoint, is_armed

T = TypeVar("T")
#: `auto` starts it once it pays.
Use = Literal["auto", "yes", "no"]

log = logging.getLogger("callsheet.store")

#: It pays once so much work has come while so much else was under way: to start it takes as much
#: of a processor as a hundred small videos.
_AFTER, _BESIDE = 64, 3
#: How often it is started, all in all.
_STARTS = 3
#: Seconds it may take to be there, and to end what it is at.
_START, _END = 30.0, 10.0
#: Seconds for one video, of whatever size: far more than a usual one takes on a busy machine.
TIMEOUT = 60.0
#: Bytes of a video that get a second more: a disk on a slow network reads as much, and decoding a
#: long video takes longer.
_PACE = 1_000_000
#: What it sees of the environment: no key and no secret.
_ENVIRON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT")
#: Memory for one video is kept for the next. The system's C library (glibc) gives it back and has
#: it filled with zeros again each time, which is a third of what a small video costs.
_KEPT = {"MALLOC_MMAP_THRESHOLD_": str(16 << 20), "MALLOC_TRIM_THRESHOLD_": str(32 << 20)}


class SecondProcess:
    """Work apart from this process: `do` it, and `aclose` in the end. One event loop's own."""

    def __init__(
        self, use: Use = "auto", *, python: str = sys.executable, timeout: float = TIMEOUT
    ) -> None:
        possible = sys.platform != "win32" and (use == "yes" or (os.cpu_count() or 1) > 1)
        self._starts_left = _STARTS if use != "no" and possible else 0
        self._at_once = use == "yes"
        self._python = python
        self._timeout = timeout
        self._under_way = self._busy = 0
        self._starting: asyncio.Task[None] | None = None
        self._link: _Link | None = None

    @property
    def pid(self) -> int | None:
        """The process, if it is there."""
        return None if self._link is None else self._link.process.pid

    async def do(
        self,
        work: Callable[..., T],
        *given: Any,
        here: Callable[[], Awaitable[T]],
        again: Callable[[], Awaitable[T]] | None = None,
    ) -> T:
        """Return what `work`, a function of a module, returns for `given`; raise what it raises.

        `here` does the same in this process. So does `again`, where it is given, after the other
        process died in the middle of it.
        """
        self._under_way += 1
        try:
            link = self._link or await self._wanted()
            if link is None:
                return await here()
            try:
                seconds = self._timeout + await asyncio.to_thread(_size_of, given) / _PACE
                found: T = await link.ask(work, given, seconds)
                return found
            except _Gone:
                # Until it is dead, it still holds the locks of what it was writing.
                await asyncio.to_thread(link.process.wait)
            return await (again or here)()
        finally:
            self._under_way -= 1

    async def aclose(self) -> None:
        """Let the process finish what it is at, and end it."""
        self._starts_left = 0
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        link, self._link = self._link, None
        if link is not None:
            await link.aclose()

    async def _wanted(self) -> _Link | None:
        """Return the link to the process where there is one; start one where it pays."""
        self._busy += self._under_way > _BESIDE
        pays = self._at_once or self._busy > _AFTER
        if pays and self._starting is None and self._starts_left:
            self._starts_left -= 1
            self._starting = asyncio.create_task(self._start(), name="second process")
        if self._at_once and self._starting is not None:
            await asyncio.wait([self._starting])
        return self._link

    async def _start(self) -> None:
        try:
            self._link = await _linked(self._python, self._lost)
        except (OSError, _Gone, TimeoutError) as error:
            log.info("there is no second process to look at videos (%s): it is done here", error)

    def _lost(self, link: _Link) -> None:
        if self._link is link:
            self._link = self._starting = None
            # No one waits for it any more: another is started, or none.
            asyncio.get_running_loop().run_in_executor(None, link.process.wait)
            log.warning(
                "the second process, which looks at videos and writes them, ended; "
                "what it was at is done here"
            )


def _size_of(given: tuple[Any, ...]) -> int:
    """Return how many bytes the files have that some work is given."""
    files = [one for part in given for one in (part if isinstance(part, (list, tuple)) else [part])]
    paths = [getattr(one, "source", one) for one in files]
    size = 0
    for path in paths:
        with contextlib.suppress(OSError):
            size += path.stat().st_size if isinstance(path, Path) else 0
    return size


class _Gone(Exception):
    """the process ended"""


class _Link(asyncio.Protocol):
    """This end of the socket, and the process at the other."""

    def __init__(self, process: subprocess.Popen[bytes], lost: Callable[[_Link], None]) -> None:
        self.process = process
        self._lost = lost
        self._frames = Frames(load_answer)
        self._number = 0
        self.is_there: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting: dict[int, asyncio.Future[Any]] = {0: self.is_there}
        self._idle, self._ended = asyncio.Event(), asyncio.Event()
        #: When work on an order began; when the process said anything last.
        self._begun: dict[int, float] = {}
        self._heard_at = 0.0

    async def ask(self, work: Callable[..., Any], given: tuple[Any, ...], seconds: float) -> Any:
        """Have work done; raise _Gone where that was not answered.

        A process that works on it for more than so many seconds, or says nothing for as long, is
        ended: anyone who waits for it then raises _Gone, too.
        """
        if self._transport.is_closing():
            raise _Gone
        self._number = number = self._number + 1
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._transport.write(frame(Asked(number, work, given)))
        asked = asyncio.get_running_loop().time()
        try:
            while not answer.done():
                # An order that waits for its turn is not late while others are answered.
                since = self._begun.get(number, max(asked, self._heard_at))
                left = since + seconds - asyncio.get_running_loop().time()
                if left <= 0:
                    self._give_up(work, seconds)
                    break
                await asyncio.wait([answer], timeout=left)
            return await answer
        finally:
            self._begun.pop(number, None)

    def _give_up(self, work: Callable[..., Any], seconds: float) -> None:
        """End a process that does not answer."""
        if not self._transport.is_closing():
            log.warning(
                "the second process did not finish %s in %.0f s: it is ended, and this process "
                "does its work",
                work.__name__,
                seconds,
            )
            self._transport.abort()

    async def aclose(self) -> None:
        """Wait for what was asked, also by those who went away meanwhile; then end the process."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END):
                while self._waiting:
                    self._idle.clear()
                    await self._idle.wait()
        self._lost = lambda _: None
        await self.end()

    async def end(self) -> None:
        """End the process, whatever it is at."""
        self._transport.abort()
        await self._ended.wait()
        await asyncio.to_thread(self.process.wait)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way to it."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Hand out what it says; what makes no sense ends it."""
        try:
            for answer in self._frames.take(data):
                self._heard(answer)
        except Exception:
            log.debug("the second process said something that is no answer", exc_info=True)
            self._transport.abort()

    def connection_lost(self, _: Exception | None) -> None:
        """Tell everybody who waits."""
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(_Gone())
        # It is at its end, or of no use any more.
        self.process.kill()
        self._idle.set()
        self._ended.set()
        self._lost(self)

    def _heard(self, answer: Answered) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        if answer.kind == "begun":
            if answer.number in self._waiting:
                self._begun[answer.number] = self._heard_at
            return
        if answer.kind == "point":
            crashpoint(answer.value)
            self._transport.write(frame(Passed(answer.number)))
            return
        self._begun.pop(answer.number, None)
        future = self._waiting.pop(answer.number)
        if not self._waiting:
            self._idle.set()
        if future.done():
            return  # the caller was cancelled
        if answer.kind == "failed":
            future.set_exception(answer.value)
        else:
            future.set_result(answer.value)


async def _linked(python: str, lost: Callable[[_Link], None]) -> _Link:
    """Start the process and return the link to it, once it is ready."""
    ours, theirs = socket.socketpair()
    with theirs:
        words = [
            python,
            "-P",
            "-m",
            "callsheet.tasks.store.second_process_main",
            str(theirs.fileno()),
        ]
        environ = {name: os.environ[name] for name in _ENVIRON if name in os.environ} | _KEPT
        # With -P nothing that lies about in the current folder passes for a module of ours.
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        try:
            process = await asyncio.to_thread(
                subprocess.Popen,
                [*words, "armed"] if is_armed() else words,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environ,
                # A Ctrl-C in the terminal is for us alone.
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
    ours.setblocking(False)
    loop = asyncio.get_running_loop()
    _, link = await loop.create_connection(lambda: _Link(process, lost), sock=ours)
    try:
        async with asyncio.timeout(_START):
            await link.is_there
    except BaseException:
        await link.end()
        raise
    return link


# What the two processes say to each other: pickled values, each with its length before it.
#
# The second process opens files that come from elsewhere. What it answers may therefore be made of
# values and errors alone: nothing that is unpickled here calls anything.


_LENGTH = struct.Struct("<I")
#: Classes of other modules' that answers are made of.
_PLAIN = {("pathlib", "PosixPath"), ("decimal", "Decimal"), ("fractions", "Fraction")}


class Asked(NamedTuple):
    """Work to be done: a function of a module, and what it is given."""

    number: int
    work: Callable[..., Any]
    given: tuple[Any, ...]


class Passed(NamedTuple):
    """The order to go on from a crash point."""

    number: int


class Answered(NamedTuple):
    """What became of an order, or of the start (number 0): what it returned or raised.

    `begun` says that work on the order starts now. `point` is the name of a crash point that it is
    at; it goes on when it is told to.
    """

    number: int
    kind: Literal["begun", "done", "failed", "point"]
    value: Any


def frame(value: Asked | Passed | Answered) -> bytes:
    """Return a value as it is sent."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


class Frames:
    """Values out of bytes that come as they like; `load` makes one of its bytes."""

    def __init__(self, load: Callable[[bytes], Any] = pickle.loads) -> None:
        self._load = load
        self._bytes = bytearray()

    def take(self, data: bytes) -> Iterator[Any]:
        """Yield every value that is whole now."""
        self._bytes += data
        while len(self._bytes) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._bytes)
            end = _LENGTH.size + length
            if len(self._bytes) < end:
                return
            whole = bytes(self._bytes[_LENGTH.size : end])
            del self._bytes[:end]
            yield self._load(whole)


def load_answer(data: bytes) -> Any:
    """Return an answer; raise UnpicklingError for one that names anything but values and errors."""
    return _Answers(io.BytesIO(data)).load()


class _Answers(pickle.Unpickler):
    """Knows the classes that answers are made of."""

    #: Those that were found to be: they are few, and come with every answer.
    _known: ClassVar[dict[tuple[str, str], type]] = {}

    def find_class(self, module: str, name: str) -> Any:
        """Return a class of the store's own, an error, or a path."""
        known = self._known.get((module, name))
        return known or self._known.setdefault((module, name), self._found(module, name))

    def _found(self, module: str, name: str) -> type:
        ours = module == "callsheet.tasks.runtime.errors" or module.startswith(
            "callsheet.tasks.store."
        )
        if ours or module == "builtins" or (module, name) in _PLAIN:
            found = super().find_class(module, name)
            if isinstance(found, type) and (
                (module, name) in _PLAIN
                or issubclass(found, BaseException)
                # Made there: what a module of ours imports has the same address, and may do harm.
                or (ours and found.__module__ == module)
            ):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is nothing to answer with")
