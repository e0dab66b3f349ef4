"""One call: what it sends, how its success is read, and how far it has come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from tasks.service.answer import Answer
from tasks.service.operations import Operation

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Call(Generic[T]):
    """What to send, and how to read a success. `target` is path and query, encoded."""

    operation: Operation
    target: str
    read: Callable[[Answer], T]
    body: bytes | None = None
    key: str | None = None


@dataclass(slots=True)
class Progress:
    """How far one call has come, over all of its attempts."""

    attempts: int = 0
    limited: int = 0
    unknown: bool = False  # one of them may have been carried out
    sending: timedelta = timedelta()
    waiting: timedelta = timedelta()
