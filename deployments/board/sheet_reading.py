"""Reads sheets that were uploaded: a large one in a process of its own, which can be ended.

    python -P -m callsheet.deployments.board.sheet_reading

What is to be read comes on its standard input, what was found goes to its standard output, both
pickled: nobody else has either. Small sheets are read in a thread, within two seconds at most.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Person
from callsheet.tasks.campaign.handed_in import find_in_kept, size_of
from callsheet.tasks.errors import BadInput, Problem
from callsheet.tasks.ledger import KeptSheet
from callsheet.tasks.plural import count, say_bytes
from callsheet.tasks.sheet.fill import FoundSheet
from callsheet.tasks.sheet.values import SheetOptions

log = logging.getLogger("callsheet.board")

#: How the process ends that has no memory left.
OUT_OF_MEMORY = 7


async def found_in(
    board: Board, kept: KeptSheet, options: SheetOptions, *, person: Person | None = None
) -> FoundSheet:
    """Return what is in an uploaded sheet; `person` waits for it, and is not to hold up others.

    Raises BadInput where its bytes are gone or others, ProblemDetails (429) where too many of the
    person's sheets are being read already.
    """
    if size_of(board.settings, kept) < board.reading_limits.large:
        return await asyncio.to_thread(find_in_kept, board.settings, kept, options)
    with _counted(board, person):
        async with board.reading_limits.slots:
            return await _read_apart(board, kept, options)


@contextmanager
def _counted(board: Board, person: Person | None) -> Iterator[None]:
    if person is None:
        yield
        return
    most = board.reading_limits.of_a_person
    if board.reading[person.name] >= most:
        raise ProblemDetails(
            429,
            f"{count(most, 'large sheet')} of yours is being read; this one was not",
            title="Too many sheets at once",
            remedy="try again when it is read",
        )
    board.reading[person.name] += 1
    try:
        yield
    finally:
        board.reading[person.name] -= 1


async def _read_apart(board: Board, kept: KeptSheet, options: SheetOptions) -> FoundSheet:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "callsheet.deployments.board.sheet_reading"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    limits = board.reading_limits
    asked = pickle.dumps((limits.memory, board.settings, kept, options))
    try:
        async with asyncio.timeout(limits.seconds):
            said, errors = await process.communicate(asked)
    except TimeoutError:
        return _not_read(kept, f"takes longer than {limits.seconds:g} seconds to read: split it")
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode in (OUT_OF_MEMORY, -signal.SIGKILL):
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
    if os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    found: FoundSheet | BadInput
    try:
        found = find_in_kept(settings, kept, options)
    except BadInput as error:
        found = BadInput(str(error), remedy=error.remedy)
    except MemoryError:
        raise SystemExit(OUT_OF_MEMORY) from None
    pickle.dump(found, sys.stdout.buffer)


if __name__ == "__main__":
    main()
