"""What the two processes say to each other: pickled values, each with its length before it."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

_LENGTH = struct.Struct("<I")


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

    `point` is the name of a crash point that it is at; it goes on when it is told to.
    """

    number: int
    kind: Literal["done", "failed", "point"]
    value: Any


def frame(value: Asked | Passed | Answered) -> bytes:
    """Return a value as it is sent."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


class Frames:
    """Values out of bytes that come as they like."""

    def __init__(self) -> None:
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
            yield pickle.loads(whole)
