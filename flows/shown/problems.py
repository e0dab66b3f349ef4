"""What is wrong with a sheet, on Prefect's page: every problem with its cell."""

from __future__ import annotations

import logging
from pathlib import PurePosixPath
from typing import Any

from prefect.logging import get_run_logger

from callsheet.flows.shown.artifacts import (
    LINES,
    cell,
    key_of,
    out_of_the_way,
    put_table,
    words_cell,
)
from callsheet.tasks.errors import CallsheetError, Problem, SheetError, shorten
from callsheet.tasks.plural import count
from callsheet.tasks.redact import redact
from callsheet.tasks.suggest import suggest

#: Problems that are logged one by one, and those that the words of a state have room for.
LOGGED, SAID = 200, 5


async def publish_problems(error: CallsheetError) -> str:
    """Publish every problem of a sheet in the run's log and in a table; return the words for the
    state that the run ends in, the first problems among them.

    Of any other error the log and the words have what it says, and what helps.
    """
    log = get_run_logger()
    problems = error.problems if isinstance(error, SheetError) else ()
    for note in error.notes if isinstance(error, SheetError) else ():
        log.info("note %s", redact(str(note)))
    words = _words_of(error, problems)
    for problem in problems[:LOGGED]:
        log.error("%s", redact(str(problem)))
    if len(problems) > LOGGED:
        log.error("... and %s", count(len(problems) - LOGGED, "more problem"))
    if not problems:
        # To wait, or to be approved, is no error.
        log.log(logging.WARNING if error.exit_status in (4, 5) else logging.ERROR, "%s", words)
    if problems:
        await _publish_table(problems)
    return words


def _words_of(error: CallsheetError, problems: tuple[Problem, ...]) -> str:
    words = redact(str(error)).rstrip(".")
    told = [redact(str(problem)) for problem in problems]
    first = [one for one in told[:SAID] if one not in words]
    if first:
        rest = [f"... and {len(told) - SAID:,} more"] if len(told) > SAID else []
        words = "\n".join([f"{words}:", *(f"- {one}" for one in (*first, *rest))])
    return f"{words}\n{redact(error.remedy)}" if error.remedy else words


@out_of_the_way
async def _publish_table(problems: tuple[Problem, ...]) -> None:
    file = redact(problems[0].file)
    words = f"{count(len(problems), 'problem')} of `{file}`; nothing was spent"
    if len(problems) > LINES:
        words += f". The first {LINES:,} are shown; `{suggest('check', file)}` shows all"
    table = [_line(problem) for problem in problems[:LINES]]
    key = key_of(PurePosixPath(file).stem or "sheet", "problems")
    await put_table(key, table, words=words)


def _line(problem: Problem) -> dict[str, Any]:
    return {
        "line": problem.line,
        "row": cell(problem.row or ""),
        "cell": cell(problem.cell or problem.column or ""),
        "it says": "" if problem.value is None else cell(shorten(problem.value)),
        "problem": words_cell(problem.message),
    }
