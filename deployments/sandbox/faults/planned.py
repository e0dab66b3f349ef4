"""Planned faults: how entries are read, and which calls they strike.

Entries come by the control door, or in a script, a file in TOML or JSON:

[[faults]]
on = "create"
nth = 2
do = "drop-after"
"""

from __future__ import annotations

import json
import time
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from callsheet.deployments.sandbox.faults.fault import Fault
from callsheet.deployments.sandbox.faults.kinds import FaultKind, kinds_on

WHICH = ("nth", "every", "chance", "seed", "per")
ELSEWHERE = ("render", "webhook")


class FaultRefused(Exception):
    """An entry that cannot be planned; the message says why in a sentence."""


@dataclass
class PlannedFault:
    """A fault in the plan, how often its calls were seen and how often it struck."""

    number: int
    fault: Fault
    said: Mapping[str, Any]
    seen: Counter[str] = field(default_factory=Counter)
    struck: int = 0

    def watches(self, on: str) -> bool:
        """Say whether it waits for calls of this name; `*` is every operation."""
        return self.fault.on == on or (self.fault.on == "*" and on not in ELSEWHERE)

    def counts(self, subject: str) -> int:
        """Count one call; return its number, or 0 when it is not struck."""
        counted = subject if self.fault.per else ""
        self.seen[counted] += 1
        call = self.seen[counted]
        return call if self.fault.strikes(call, counted) else 0

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
            read_fault(said, f"{source}fault {number}", self.operations)
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
            lines = self._log.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]

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
        one, call = next(((one, call) for one, call in calls if call), (None, 0))
        if one is None:
            return None
        one.struck += 1
        moment = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")
        entry = {"time": moment.replace("+00:00", "Z"), "on": on, "call": call, "do": one.fault.do}
        with self._log.open("a", encoding="utf-8") as log:
            log.write(json.dumps({**entry, "video": video, "key": key}) + "\n")
        return one.fault


def read_fault(
    said: object, where: str, operations: Collection[str]
) -> tuple[Fault, Mapping[str, Any]]:
    """Turn one entry into a fault, or refuse it; `where` is how the sentence calls it."""
    if not isinstance(said, Mapping):
        raise FaultRefused(f"{where} must hold members such as on and do.")
    on = _one_of(said, "on", [*operations, "*", *ELSEWHERE], where)
    kind = kinds_on(on)[_one_of(said, "do", kinds_on(on), where)]
    for name in said:
        if name not in kind.takes and name not in ("on", "do", *WHICH):
            allowed = ", ".join(kind.takes) or "no members of its own"
            raise FaultRefused(
                f'{where}: "{name}" says nothing to {kind.do}, which takes {allowed}.'
            )
    return _checked(said, kind, where), dict(said)


def _one_of(said: Mapping[str, Any], name: str, known: Collection[str], where: str) -> str:
    value = said.get(name)
    if isinstance(value, str) and value in known:
        return value
    trouble = f"cannot be {_short(value)}" if name in said else "is missing"
    raise FaultRefused(f'{where}: "{name}" {trouble}; it is one of {", ".join(known)}.')


def _checked(said: Mapping[str, Any], kind: FaultKind, where: str) -> Fault:
    try:
        return Fault.model_validate({**kind.takes, **said})
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
    words = Fault.model_fields[name].description
    if name not in said:
        raise FaultRefused(f'{where}: {kind.do} needs "{name}", {words}.')
    raise FaultRefused(f'{where}: "{name}" must be {words}; it is {_short(said[name])}.')


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def read_script(path: Path) -> list[object]:
    """Read the entries of a script; raises FaultRefused when it is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FaultRefused(f"The fault script {path} cannot be read: {why}.") from error
    read = json.loads if path.suffix.lower() == ".json" else tomllib.loads
    try:
        said = read(text)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if read is json.loads else "TOML"
        raise FaultRefused(f"The fault script {path} is not {kind}: {error}.") from error
    entries = said.get("faults") if isinstance(said, dict) and set(said) <= {"faults"} else said
    if not isinstance(entries, list):
        msg = f'The fault script {path} must hold a list called "faults", and nothing beside it.'
        raise FaultRefused(msg)
    return entries
