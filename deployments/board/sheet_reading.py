"""Reads sheets that were uploaded: a large one in a process of its own, which can be stopped.

    python -P -m callsheet.deployments.board.sheet_reading

That process gets its task on standard input and answers on standard output, both pickled: no other
program has either end. Knows no request and no plan.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.tasks.campaign.uploads import find_in_kept, size_of
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.plans import KeptSheet
from callsheet.tasks.runtime.errors import BadInput, Problem
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.sheet.read import FoundSheet
from callsheet.tasks.sheet.table import MeansMany, SheetOptions
from callsheet.tasks.values.amounts import count, say_bytes

log = logging.getLogger("callsheet.board")

#: Exit status of the process when it has no memory left.
OUT_OF_MEMORY = 7


@dataclass(frozen=True, kw_only=True)
class ReadingLimits:
    """What a large sheet may take to be read: seconds, bytes of memory, processes at once.

    A sheet of `large` bytes or more, or whose matrix means more than `few` videos, is read in a
    process: a workbook unpacks to 200 times its bytes.
    Each person can have `of_a_person` of them read at once, all people together `at_once`.
    """

    large: int = 64 * 1024
    few: int = 1000
    seconds: float = 60.0
    memory: int = 2 * 1024**3
    at_once: int = 2
    of_a_person: int = 1


class SheetReader:
    """Reads uploaded sheets within limits, so that one person's sheets do not hold up others."""

    def __init__(self, limits: ReadingLimits | None = None) -> None:
        self._limits = limits or ReadingLimits()
        self._slots = asyncio.Semaphore(self._limits.at_once)
        #: How many large sheets of each person are being read.
        self._large: Counter[str] = Counter()
        #: Small sheets of one person are read one after another.
        self._small: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def find(
        self, settings: Settings, kept: KeptSheet, options: SheetOptions, *, person: Person | None
    ) -> FoundSheet:
        """Return what is in a stored sheet; `person` waits for it (None: Callsheet itself).

        Raises BadInput where its bytes are gone or were changed, ProblemDetails (429) where too
        many large sheets of the person are being read already.
        """
        name = "" if person is None else person.name
        if size_of(settings, kept) < self._limits.large:
            few = replace(options, few=self._limits.few)
            with suppress(MeansMany):
                async with self._small[name]:
                    return await asyncio.to_thread(find_in_kept, settings, kept, few)
        with self._counted(name):
            async with self._slots:
                return await _read_apart(self._limits, settings, kept, options)

    @contextmanager
    def _counted(self, name: str) -> Iterator[None]:
        most = self._limits.of_a_person
        if name and self._large[name] >= most:
            raise ProblemDetails(
                429,
                f"{count(most, 'large sheet')} of yours is being read; this one was not",
                title="Too many sheets at once",
                remedy="try again when it is read",
            )
        self._large[name] += 1
        try:
            yield
        finally:
            self._large[name] -= 1


async def _read_apart(
    limits: ReadingLimits, settings: Settings, kept: KeptSheet, options: SheetOptions
) -> FoundSheet:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "callsheet.deployments.board.sheet_reading"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    asked = pickle.dumps((limits.memory, settings, kept, options))
    try:
        async with asyncio.timeout(limits.seconds):
            said, errors = await process.communicate(asked)
    except TimeoutError:
        return _not_read(kept, f"takes longer than {limits.seconds:g} seconds to read: split it")
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    # 9: the system ran out of memory and killed it.
    if process.returncode in (OUT_OF_MEMORY, -9):
        words = f"takes more than {say_bytes(limits.memory)} of memory to read: split it"
        return _not_read(kept, words)
    if process.returncode:
        log.error("a sheet was not read: %s", errors.decode(errors="replace")[-2000:])
        return _not_read(kept, "could not be read because of a fault in Callsheet; see its log")
    found: FoundSheet | BadInput = pickle.loads(said)
    if isinstance(found, BadInput):
        raise found
    return found


def _not_read(kept: KeptSheet, words: str) -> FoundSheet:
    return FoundSheet(problems=(Problem(file=kept.name, message=words),))


def main() -> None:
    """Read what is asked for."""
    memory, settings, kept, options = pickle.load(sys.stdin.buffer)
    if sys.platform != "win32":
        import resource

        # Imported while there is memory: an import without it fails in ways that are hard to tell.
        import callsheet.tasks.sheet.workbook  # noqa: F401

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    found: FoundSheet | BadInput
    try:
        try:
            found = find_in_kept(settings, kept, options)
        except BadInput as error:
            found = BadInput(str(error), remedy=error.remedy)
        pickle.dump(found, sys.stdout.buffer)
    except MemoryError:
        raise SystemExit(OUT_OF_MEMORY) from None


if __name__ == "__main__":
    main()
