"""Owns what is to go wrong, and when: the faults planned, their counts, and the log of strikes."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from callsheet.deployments.sandbox.faults.entries import read_fault
from callsheet.deployments.sandbox.faults.kinds import Fault

ELSEWHERE = ("render", "webhook")


class PlannedFault:
    """A fault in the plan, how often its calls were seen and how often it struck."""

    def __init__(self, number: int, fault: Fault, said: object) -> None:
        assert isinstance(said, Mapping)
        self.number = number
        self.fault = fault
        self.said = dict(said)
        self.seen: Counter[str] = Counter()
        self.struck = 0

    def watches(self, on: str) -> bool:
        """Say whether it waits for calls of this name; `*` is every operation."""
        return self.fault.on == on or (self.fault.on == "*" and on not in ELSEWHERE)

    def counts(self, subject: str) -> int:
        """Count one call; return its number, or 0 when it is not struck."""
        counted = subject if self.fault.which.per_video else ""
        self.seen[counted] += 1
        call = self.seen[counted]
        return call if self.fault.which.holds(call, counted) else 0

    def shown(self) -> dict[str, Any]:
        """Show the entry as it was given, with its number and counts."""
        counts = {"calls": self.seen.total(), "struck": self.struck}
        return {"id": self.number, **self.said, **counts}


class Faults:
    """The faults of one sandbox. The log is a file, so that a crash does not forget its cause."""

    def __init__(self, log: Path) -> None:
        self.operations: Collection[str] = ()
        self._planned: list[PlannedFault] = []
        self._numbers = count(1)
        self._log = log

    def plan(self, entries: Sequence[object], source: str = "") -> list[dict[str, Any]]:
        """Add entries to the plan, all or none; raises FaultRefused naming the entry."""
        # One read before another is planned: a bad entry must leave nothing behind.
        read = [
            (read_fault(said, f"{source}fault {number}", self.operations), said)
            for number, said in enumerate(entries, start=1)
        ]
        added = [PlannedFault(next(self._numbers), fault, said) for fault, said in read]
        self._planned += added
        return [one.shown() for one in added]

    def clear(self, number: int | None = None) -> int:
        """Take one fault, or all of them, out of the plan; return how many went."""
        kept = [one for one in self._planned if number is not None and one.number != number]
        gone = len(self._planned) - len(kept)
        self._planned = kept
        return gone

    def listed(self) -> list[dict[str, Any]]:
        """Show the plan, in the order it was made."""
        return [one.shown() for one in self._planned]

    def log(self) -> list[dict[str, Any]]:
        """Give every strike there was, oldest first, of earlier runs too."""
        try:
            lines = self._log.read_text().splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]

    @property
    def idle(self) -> bool:
        """Say whether nothing is planned at all."""
        return not self._planned

    def watches(self, on: str) -> bool:
        """Say whether any fault waits for calls of this name."""
        return any(one.watches(on) for one in self._planned)

    def strike(self, on: str, *, video: str | None = None, key: str | None = None) -> Fault | None:
        """Count one call and return the fault that strikes it, if one was planned.

        `on` is the operation, `render` or `webhook`; `video` and `key` say whose call it is. Where
        several faults strike, the one planned first wins; all of them count the call.
        """
        watching = [one for one in self._planned if one.watches(on)]
        calls = [(one, one.counts(video or key or "")) for one in watching]
        striking = next(((one, call) for one, call in calls if call), None)
        if striking is None:
            return None
        one, call = striking
        one.struck += 1
        self._write({"on": on, "call": call, "do": one.fault.do, "video": video, "key": key})
        return one.fault

    def _write(self, strike: dict[str, Any]) -> None:
        moment = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")
        entry = {"time": moment.replace("+00:00", "Z"), **strike}
        with self._log.open("a") as log:
            log.write(json.dumps(entry) + "\n")
