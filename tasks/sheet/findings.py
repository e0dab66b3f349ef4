"""Collects what is wrong with a sheet, so that all of it is said at once."""

from __future__ import annotations

from typing import NoReturn

from tasks.errors import Problem, SheetError


class Findings:
    """The problems and the advice of one sheet, each said once."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._problems: dict[Problem, None] = {}
        self._advice: dict[Problem, None] = {}

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

    def give_up(
        self, message: str, *, line: int | None = None, cell: str | None = None
    ) -> NoReturn:
        """Note a problem that makes reading on pointless, and raise all there are."""
        self.refuse(message, line=line, cell=cell)
        raise SheetError(self.problems)

    def raise_if_any(self) -> None:
        """Raise SheetError when there is a problem."""
        if self._problems:
            raise SheetError(self.problems)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems from the top of the sheet to its end."""
        return tuple(sorted(self._problems, key=lambda problem: problem.line or 0))

    @property
    def advice(self) -> tuple[Problem, ...]:
        """The advice from the top of the sheet to its end."""
        return tuple(sorted(self._advice, key=lambda problem: problem.line or 0))
