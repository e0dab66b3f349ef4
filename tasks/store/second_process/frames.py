"""What the two processes say to each other: pickled values, each with its length before it.

The second process opens files that come from elsewhere. What it answers may therefore be made of
values and errors alone: nothing that is unpickled here calls anything.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, NamedTuple

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
        ours = module == "callsheet.tasks.errors" or module.startswith("callsheet.tasks.store.")
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
