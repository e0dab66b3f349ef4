"""Collects what is found in a sheet, so that all of it is said at once, and each thing once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from tasks.errors import Problem, SheetError


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

    def refuse(
        self,
        message: str,
        *,
        line: int | None = None,
        cell: str | None = None,
        value: str | None = None,
    ) -> None:
        """Note something that keeps the sheet from being used."""
        problem = Problem(file=self.file, message=message, line=line, cell=cell, value=value)
        self._problems[problem] = None

    def advise(
        self,
        message: str,
        *,
        line: int | None = None,
        cell: str | None = None,
        value: str | None = None,
    ) -> None:
        """Note something worth knowing that stops nothing."""
        problem = Problem(file=self.file, message=message, line=line, cell=cell, value=value)
        self._advice[problem] = None

    def note(
        self,
        message: str,
        *,
        line: int | None = None,
        cell: str | None = None,
        value: str | None = None,
    ) -> None:
        """Note how something was understood, and what says that it was meant otherwise."""
        problem = Problem(file=self.file, message=message, line=line, cell=cell, value=value)
        self._notes[problem] = None

    def give_up(
        self, message: str, *, line: int | None = None, cell: str | None = None
    ) -> NoReturn:
        """Note a problem that makes reading on pointless, and raise all there are."""
        self.refuse(message, line=line, cell=cell)
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
