"""Keeps programs up: starts each after what it needs, and again when it dies.

What cannot be kept up ends all of it, with its last words. Should this be killed, somebody else is
there to end what it leaves.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from callsheet.deployments.up.kept_program import LISTEN, PAUSE, KeptProgram, Tell
from callsheet.deployments.up.programs import WITHIN, Program
from callsheet.deployments.up.what_is_up import WhatIsUp, folder_of, write_up

#: How long programs have to end in order, in seconds: a worker waits for its runs to let go.
GRACE = 30.0
#: How often logs are read, in seconds.
READ = 0.3


class Supervisor:
    """Everything that one `up` keeps up."""

    def __init__(
        self,
        home: Path,
        now: WhatIsUp,
        tell: Tell,
        *,
        pause: float = PAUSE,
        listen: float = LISTEN,
        within: float = WITHIN,
    ) -> None:
        self.now = now
        #: Done when it is to end; an error says of which part that is.
        self.ending: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._home = home
        self._tell = tell
        self._pause = pause
        self._listen = listen
        self._within = within
        self._kept: dict[str, KeptProgram] = {}
        self._keeping: list[asyncio.Task[None]] = []
        self._hurry = asyncio.Event()
        self._speaks = False
        self._leftovers: subprocess.Popen[bytes] | None = None
        self._reading = asyncio.create_task(self._read_logs(), name="logs")
        self._guard()

    def stop(self) -> None:
        """Have everything end in order; asked again, at once."""
        if self.ending.done():
            self._hurry.set()
        else:
            self.ending.set_result(None)

    def keep(self, program: Program) -> None:
        """Keep a program up from now on."""
        needs = [self._kept[name] for name in program.needs if name in self._kept]
        kept = KeptProgram(
            program,
            folder_of(self._home),
            needs,
            self._note,
            self._tell,
            pause=self._pause,
            listen=self._listen,
            within=self._within,
        )
        self._kept[program.name] = kept
        self._note(kept)
        self._keeping.append(asyncio.create_task(self._keep(kept), name=program.name))

    async def are_up(self, *names: str) -> bool:
        """Wait until these are up, all unless told; False when it ends before.

        Raises CallsheetError for a part that does not stay up.
        """
        kept = [one for name, one in self._kept.items() if not names or name in names]

        async def come_up() -> None:
            for one in kept:
                await one.up.wait()

        up = asyncio.create_task(come_up())
        either: set[asyncio.Future[None]] = {up, self.ending}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if self.ending.done():
                self.ending.result()
                return False
            return True
        finally:
            up.cancel()

    def said(self, name: str) -> dict[str, Any]:
        """Return what a program said when it was ready the last time."""
        kept = self._kept.get(name)
        return kept.said if kept is not None else {}

    def let_speak(self) -> None:
        """Tell from now on what parts write; what they say of their start is in their logs."""
        self._show_logs()
        self._speaks = True

    def change(self, **what: Any) -> None:
        """Write down something more of what is up."""
        self.now = replace(self.now, **what)
        try:
            write_up(self._home, self.now)
        except OSError as error:
            # The parts are kept up all the same, as on a disk that is full for a while.
            self._tell("up", f"what is up cannot be written down: {error.strerror}")

    async def end(self) -> None:
        """End everything, what needs others first; whatever is left after that, too."""
        for task in self._keeping:
            task.cancel()
        await asyncio.gather(*self._keeping, return_exceptions=True)
        left = dict(self._kept)
        while left:
            needed = {need.program.name for one in left.values() for need in one.needs}
            first = {name: one for name, one in left.items() if name not in needed}
            await asyncio.gather(*(one.end(GRACE, self._hurry) for one in first.values()))
            left = {name: one for name, one in left.items() if name not in first}
        if self._leftovers is not None and self._leftovers.stdin is not None:
            self._leftovers.stdin.close()
            await asyncio.to_thread(self._leftovers.wait)
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self._show_logs()

    async def _keep(self, kept: KeptProgram) -> None:
        try:
            await kept.keep()
        # Whatever it is: nobody keeps the part up after that.
        except Exception as error:
            if not self.ending.done():
                self.ending.set_exception(error)

    def _note(self, kept: KeptProgram) -> None:
        self.change(parts={**self.now.parts, kept.program.name: kept.part})

    async def _read_logs(self) -> None:
        while True:
            await asyncio.sleep(READ)
            self._show_logs()
            with suppress(OSError):
                # There is no room for another process: it is tried again.
                self._guard()

    def _show_logs(self) -> None:
        for name, kept in self._kept.items():
            with suppress(OSError):
                for line in kept.log.new_lines():
                    shows = kept.program.shows
                    if self._speaks and (shows is None or shows.match(line)):
                        self._tell(name, line)

    def _guard(self) -> None:
        """Have somebody there who ends what would outlive us, should we be killed."""
        if self._leftovers is not None and self._leftovers.poll() is None:
            return
        self._leftovers = subprocess.Popen(
            [sys.executable, "-P", "-m", "callsheet.deployments.up.leftovers", self.now.mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
