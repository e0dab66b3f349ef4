"""`python -m tests.bench.counted_worker PRODUCTION NUMBER`: a worker that counts what it asks for.

Prints a line of JSON at its end. Knows nothing of workers: it listens to SQLAlchemy.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Engine, Pool, event

from tests.workers import one_worker

#: What changes a line that all workers of a ledger, or of a campaign, change as well.
SHARED = ("UPDATE accounts", "UPDATE campaigns")


@dataclass
class Counted:
    """What one process asked of its ledger; seconds are of the wall, `processor` of all threads.

    `held` is how long shared lines were locked, `while_held` how many statements that took,
    `writing` how long transactions that write lasted.
    """

    statements: int = 0
    in_writes: int = 0
    writes: int = 0
    writing: float = 0.0
    locks: int = 0
    held: float = 0.0
    while_held: int = 0
    processor: float = 0.0
    writer: float = 0.0


class Counting:
    """Counts in the threads of a process; a transaction is in one thread from begin to end."""

    def __init__(self) -> None:
        self.counted = Counted()
        event.listen(Engine, "before_cursor_execute", self._asked)
        event.listen(Engine, "after_cursor_execute", self._answered)
        event.listen(Pool, "checkout", self._taken)
        event.listen(Pool, "checkin", self._given_back)
        event.listen(Engine, "commit", self._committing)

    def _taken(self, connection: Any, record: Any, _: Any) -> None:
        record.info["statements"] = 0
        record.info["begun"] = time.monotonic()

    def _asked(self, connection: Any, *_: Any) -> None:
        self.counted.statements += 1
        info = connection.info
        info["statements"] = info.get("statements", 0) + 1
        self.counted.while_held += "locked" in info

    def _answered(self, connection: Any, _: Any, statement: str, *__: Any) -> None:
        if statement.startswith(SHARED):
            connection.info.setdefault("locked", time.monotonic())

    def _committing(self, connection: Any) -> None:
        connection.info["wrote"] = True

    def _given_back(self, _: Any, record: Any) -> None:
        info, now = record.info, time.monotonic()
        locked = info.pop("locked", None)
        if info.pop("wrote", False):
            self.counted.writes += 1
            self.counted.in_writes += info.get("statements", 0)
            self.counted.writing += now - info.get("begun", now)
            self.counted.writer = time.thread_time()
        if locked is not None:
            self.counted.locks += 1
            self.counted.held += now - locked


def main() -> int:
    """Carry, then print what was counted."""
    counting = Counting()
    status = one_worker.main(sys.argv[1:])
    used = resource.getrusage(resource.RUSAGE_SELF)
    counting.counted.processor = used.ru_utime + used.ru_stime
    print(json.dumps(asdict(counting.counted)))
    return status


if __name__ == "__main__":
    sys.exit(main())
