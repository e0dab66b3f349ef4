"""The answers beside a sheet: what a night made of it, for programs and for people.

`NAME.callsheet.json` says it whole; `NAME.report.csv` opens in a spreadsheet: the rows with what
they cost and where their videos are, or what is wrong, cell by cell. Nothing in them changes while
nothing else does, so that an unchanged sheet's answers are left as they are.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from callsheet.tasks.campaign.report import row_documents
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.credits import as_number
from callsheet.tasks.errors import Problem
from callsheet.tasks.ledger import Campaign, numbers_of, pages_of, rows_of
from callsheet.tasks.nights.values import SheetReport
from callsheet.tasks.redact import redact
from callsheet.tasks.spreadsheet import write_csv

FORMAT = 1
_PROBLEM = ("line", "row", "column", "value", "problem")
_PLANNED = ("row", "title", "action", "credits", "why")
_ROWS = ("row", "title", "state", "reason", "credits", "charged", "video", "captions")

Lines = Iterable[Mapping[str, Any]]


def names_of(sheet: str) -> tuple[str, str]:
    """Return what the answers beside a sheet are called: for programs, and for people."""
    return f"{sheet}.callsheet.json", f"{sheet}.report.csv"


def answer_document(
    report: SheetReport, *, inbox: str, night: str, digest: str, problems: Sequence[Problem] = ()
) -> bytes:
    """Return what became of a sheet as JSON; `digest` is the sha256 (hex) of its bytes."""
    document = {
        "format": FORMAT,
        "inbox": inbox,
        "night": night,
        **report.as_json(),
        "exit": report.exit_status,
        "credits": {
            "charged": as_number(report.charged),
            "reserved": as_number(report.reserved),
            "asked": as_number(report.asked),
            "budget": as_number(report.budget),
        },
        "places": [problem_json(problem) for problem in problems],
        "delivered": list(report.delivered),
        "needing": list(report.needing),
        "sha256": digest,
    }
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def problem_json(problem: Problem) -> dict[str, Any]:
    """Return where a problem is and what it is, a member each."""
    value = None if problem.value is None else redact(problem.value)
    place = {"line": problem.line, "row": problem.row, "column": problem.column or problem.cell}
    return {**place, "value": value, "problem": redact(problem.message)}


def problems_report(problems: Sequence[Problem], words: str) -> bytes:
    """Return the report of a sheet that cannot be used: a line for each problem."""
    lines = [problem_json(problem) for problem in problems]
    return _csv(_PROBLEM, lines or [{"problem": redact(words)}])


def plan_report(plan: Plan) -> bytes:
    """Return the report of a plan that was not approved: a line for each row, with its price."""
    lines = (
        {
            "row": line.row,
            "title": line.title,
            "action": line.action,
            "credits": line.priced if line.spends else None,
            "why": line.why,
        }
        for line in plan.lines
    )
    return _csv(_PLANNED, lines)


def rows_report(connection: Connection, campaign: Campaign) -> bytes:
    """Return the report of a campaign: a line for each row, with its video."""

    def lines() -> Iterable[Mapping[str, Any]]:
        for page in pages_of(numbers_of(connection, campaign.id)):
            show = row_documents(connection, campaign.id, numbers=page)
            for row in rows_of(connection, campaign.id, numbers=page):
                found = show(row)
                files = {file["kind"]: file["uri"] for file in found["deliveries"]}
                yield {
                    "row": row.row,
                    "title": row.title,
                    "state": row.state,
                    "reason": redact(row.reason) if row.reason else None,
                    "credits": found["quoted"],
                    "charged": found["charged"],
                    "video": files.get("mp4"),
                    "captions": files.get("srt") or files.get("vtt"),
                }

    return _csv(_ROWS, lines())


def _csv(columns: Sequence[str], lines: Lines) -> bytes:
    out = io.StringIO(newline="")
    write_csv(out, columns, lines)
    return out.getvalue().encode()
