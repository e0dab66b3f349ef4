"""Collects what is found in a sheet, so that all of it is said at once, and each thing once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, NoReturn, TypedDict, Unpack

from callsheet.tasks.errors import Problem, SheetError


class Where(TypedDict, total=False):
    """Where in a sheet something was found, as a `Problem` has it."""

    line: int | None
    cell: str | None
    value: str | None
    row: str | None
    column: str | None


class Mistake(NamedTuple):
    """A mistake in YAML or JSON, its line, and the text without it where that can be told.

    Without words it is none: only one of two parsers stops there.
    """

    line: int
    words: str
    mended: str | None = None


class Findings:
    """The problems, the advice and the notes of one sheet.

    A problem keeps the sheet from being used, advice is what would be better, and a note says how
    something was understood that could have been meant otherwise.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._problems: dict[Problem, None] = {}
        self._advice: dict[Problem, None] = {}
        self._notes: dict[Problem, None] = {}

    def refuse(self, message: str, **place: Unpack[Where]) -> None:
        """Note something that keeps the sheet from being used."""
        self._problems[Problem(file=self.file, message=message, **place)] = None

    def advise(self, message: str, **place: Unpack[Where]) -> None:
        """Note something worth knowing that stops nothing."""
        self._advice[Problem(file=self.file, message=message, **place)] = None

    def note(self, message: str, **place: Unpack[Where]) -> None:
        """Note how something was understood, and what says that it was meant otherwise."""
        self._notes[Problem(file=self.file, message=message, **place)] = None

    def give_up(self, message: str, **place: Unpack[Where]) -> NoReturn:
        """Note a problem that makes reading on pointless, and raise all there are."""
        self.refuse(message, **place)
        raise SheetError(self.problems, notes=self.notes)

    def raise_if_any(self) -> None:
        """Raise SheetError when there is a problem."""
        if self._problems:
            raise SheetError(self.problems, notes=self.notes)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems from the top of the sheet to its end."""
        return _in_order(self._problems)

    @property
    def advice(self) -> tuple[Problem, ...]:
        """The advice from the top of the sheet to its end."""
        return _in_order(self._advice)

    @property
    def notes(self) -> tuple[Problem, ...]:
        """The notes from the top of the sheet to its end."""
        return _in_order(self._notes)


def _in_order(found: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(found, key=lambda problem: problem.line or 0))
