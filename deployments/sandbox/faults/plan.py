"""Owns what is to go wrong, and when: a list of faults, each struck by a counted call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One planned fault.

    `on` is the name of an operation (`create`, `download`, `file`, ...), `render` or `webhook`;
    `nth` counts its calls from 1 since the fault was planned, and None strikes every one; `do`
    says what goes wrong; `seconds` how slow or late; `status` which status it shows.
    """

    on: str
    do: str
    nth: int | None = None
    seconds: float = 0.0
    status: int = 500


class Faults:
    """The faults of one sandbox, and how often each operation was called."""

    def __init__(self, planned: Sequence[Fault] = ()) -> None:
        self.planned = list(planned)
        self._calls: Counter[str] = Counter()

    def strike(self, on: str) -> Fault | None:
        """Count one call and return the fault that strikes it, if one was planned."""
        self._calls[on] += 1
        called = self._calls[on]
        found = (fault for fault in self.planned if fault.on == on and fault.nth in (None, called))
        return next(found, None)
