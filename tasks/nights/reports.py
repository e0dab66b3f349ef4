"""The report of a nightly run, and the report files next to each sheet.

`NAME.callsheet.json` is complete; `NAME.report.csv` opens in a spreadsheet and has the rows with
their costs and videos, or the problems cell by cell. The files of an unchanged sheet stay the
same, byte for byte.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import PlainSerializer, TypeAdapter
from sqlalchemy import Connection

from callsheet.tasks.campaign.report import row_documents
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.figures import numbers_of, pages_of
from callsheet.tasks.ledger.values import rows_of
from callsheet.tasks.runtime.errors import Problem
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.spreadsheets import shown_lines, write_csv
from callsheet.tasks.values.amounts import as_number

FORMAT = 1
_PROBLEM = ("line", "row", "column", "value", "problem")
_PLANNED = ("row", "title", "action", "credits", "why")
_ROWS = ("row", "title", "state", "reason", "credits", "charged", "video", "captions")

Lines = Iterable[Mapping[str, Any]]


def names_of(sheet: str) -> tuple[str, str]:
    """Return the names of the report files: for programs and for people."""
    return f"{sheet}.callsheet.json", f"{sheet}.report.csv"


def answer_document(
    report: SheetReport, *, inbox: str, night: str, digest: str, problems: Sequence[Problem] = ()
) -> bytes:
    """Return the outcome of a sheet as JSON; `digest` is the sha256 (hex) of its bytes."""
    document = {
        "format": FORMAT,
        "inbox": inbox,
        "night": night,
        **report.as_json(),
        "exit": report.exit_status,
        "credits": {
            name: as_number(getattr(report, name))
            for name in ("charged", "reserved", "asked", "budget")
        },
        "places": [problem_json(problem) for problem in problems],
        "delivered": list(report.delivered),
        "needing": list(report.needing),
        "sha256": digest,
    }
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def problem_json(problem: Problem) -> dict[str, Any]:
    """Return the location and the text of a problem."""
    value = None if problem.value is None else redact(problem.value)
    place = {"line": problem.line, "row": problem.row, "column": problem.column or problem.cell}
    return {**place, "value": value, "problem": redact(problem.message)}


def problems_report(problems: Sequence[Problem], words: str) -> bytes:
    """Return the report of an invalid sheet: a line for each problem."""
    lines = [problem_json(problem) for problem in problems]
    return _csv(_PROBLEM, lines or [{"problem": redact(words)}])


def plan_report(plan: Plan) -> bytes:
    """Return the report of a plan that was not approved: a line for each row, with its price."""
    lines = (
        (line.row, line.title, line.action, line.priced if line.spends else None, line.why)
        for line in plan.lines
    )
    return _csv(_PLANNED, (dict(zip(_PLANNED, line, strict=True)) for line in lines))


def rows_report(connection: Connection, campaign: Campaign) -> bytes:
    """Return the report of a campaign: a line for each row, with its video."""

    def lines() -> Iterable[Mapping[str, Any]]:
        for page in pages_of(numbers_of(connection, campaign.id)):
            show = row_documents(connection, campaign.id, numbers=page)
            for row in rows_of(connection, campaign.id, numbers=page):
                found = show(row)
                files = {file["kind"]: file["uri"] for file in found["deliveries"]}
                yield {
                    **{name: found.get(name) for name in _ROWS},
                    "title": row.title,
                    "reason": redact(row.reason) if row.reason else None,
                    "credits": found["quoted"],
                    "video": files.get("mp4"),
                    "captions": files.get("srt") or files.get("vtt"),
                }

    return _csv(_ROWS, lines())


def _csv(columns: Sequence[str], lines: Lines) -> bytes:
    out = io.StringIO(newline="")
    write_csv(out, columns, shown_lines(lines))
    return out.getvalue().encode()


# The values that nightly runs, notices and flows share.


#: Outcomes of a sheet in a nightly run.
Outcome = Literal[
    "unchanged", "delivered", "needs-person", "not-approved", "invalid", "parked", "set-aside"
]
#: Exit statuses from best to worst.
BY_GRAVITY = (0, 5, 3, 4, 2, 1)
#: An amount of credits, in JSON a number.
Credits = Annotated[Decimal, PlainSerializer(as_number, when_used="json")]


@dataclass(frozen=True, kw_only=True)
class SheetReport:
    """The outcome of one sheet in a nightly run, as it is stored, and most of it as it is printed.

    `rows` counts the rows of its campaign by state, with `total`; `charged` is what this night
    cost, in credits; `problems` are sentences, each with its cell.
    """

    sheet: str
    campaign: str | None
    outcome: Outcome
    rows: Mapping[str, int] = field(default_factory=dict)
    charged: Credits = Decimal(0)
    problems: tuple[str, ...] = ()
    #: The reason and the remedy in one sentence.
    words: str | None = None
    #: Its address on the board.
    link: str | None = None
    #: Why there is no report file next to the sheet.
    unanswered: str | None = None
    #: The first rows that need attention, each with its state, reason and command.
    reasons: tuple[str, ...] = ()
    #: The cost of a plan that was not approved, in credits.
    asked: Credits | None = None
    #: Whether `campaign` is an earlier one: the file now has another campaign.
    former: bool = False
    #: The exit status that `callsheet run` would have had.
    exit_status: int = 0
    #: Credits reserved for videos in progress, and the budget of the campaign.
    reserved: Credits = Decimal(0)
    budget: Credits | None = None
    #: Ids of the rows delivered in this night, and of the rows that need attention.
    delivered: tuple[str, ...] = ()
    needing: tuple[str, ...] = ()
    #: Whether the previous scan had the same outcome for the same sheet.
    again: bool = False

    @property
    def name(self) -> str:
        """The key of this report in a night; one sheet may have several."""
        return f"{self.sheet} (campaign {self.campaign})" if self.former else self.sheet

    def after(self, earlier: SheetReport | None) -> SheetReport:
        """Return the report of the night after another scan has reported this."""
        if earlier is None:
            return self
        if self.outcome == "unchanged" and earlier.outcome == "delivered":
            return replace(earlier, unanswered=self.unanswered)
        delivered = dict.fromkeys((*earlier.delivered, *self.delivered))
        charged = earlier.charged + self.charged
        outcome = "delivered" if self.outcome == "unchanged" and delivered else self.outcome
        return replace(self, outcome=outcome, charged=charged, delivered=tuple(delivered))

    def without_sheet(self) -> SheetReport | None:
        """Return what stays true once its sheet is gone or has another campaign; None for nothing.

        Only that sheet could be approved or fixed: what was asked of it is over.
        """
        if self.outcome not in ("not-approved", "invalid", "set-aside"):
            return self
        if not (self.charged or self.delivered or self.needing):
            return None
        outcome: Outcome = "needs-person" if self.needing else "delivered"
        rest = replace(self, outcome=outcome, exit_status=3 if self.needing else 0)
        return replace(rest, problems=(), words=None, asked=None, unanswered=None)

    def as_json(self) -> dict[str, Any]:
        """Return it as `callsheet nightly --json` tells it."""
        told = _SHEET.dump_python(self, mode="json", include=_PRINTED)
        rest = _SHEET.dump_python(self, mode="json", include=_PRINTED, exclude_defaults=True)
        return {name: told[name] for name in told if name in rest or name in _ALWAYS}


_SHEET = TypeAdapter(SheetReport)
#: What `--json` tells of every sheet, and of those only of which there is anything to tell.
_ALWAYS = {"sheet", "campaign", "outcome", "rows", "charged", "problems"}
_PRINTED = _ALWAYS | {"words", "link", "unanswered", "reasons", "asked", "former"}


def earlier_report(reports: dict[str, SheetReport], report: SheetReport) -> SheetReport | None:
    """Remove the earlier report of the same sheet and campaign from `reports`; return it.

    What stays true of another campaign stays, marked as an earlier one.
    """
    same = reports.pop(report.name, None)
    if report.former:
        present = reports.get(report.sheet)
        if same is None and present is not None and present.campaign == report.campaign:
            return reports.pop(report.sheet)
        return same
    if same is None or None in (same.campaign, report.campaign) or same.campaign == report.campaign:
        return same
    if (rest := same.without_sheet()) is None:
        return None
    former = replace(rest, former=True)
    before = reports.get(former.name)
    reports[former.name] = former if before is None else before.after(former)
    return None


def add_report(reports: dict[str, SheetReport], report: SheetReport) -> None:
    """Add the report of a later scan, or night, to those of the earlier ones."""
    reports[report.name] = report.after(earlier_report(reports, report))


@dataclass(frozen=True, kw_only=True)
class NightReport:
    """The result of one scan of an inbox; times are Unix seconds."""

    inbox: str
    #: The date in the time zone of the schedule, as 2026-11-22, and the zone.
    night: str
    zone: str
    begun_at: float
    ended_at: float
    sheets: tuple[SheetReport, ...] = ()
    #: Why nothing was scanned: paused, superseded, or another scan is active.
    skipped: str | None = None
    #: Whether another scan is still active.
    is_swept_elsewhere: bool = False
    #: Names of files that were still being written: the next scan reads them.
    waiting: tuple[str, ...] = ()

    @property
    def charged(self) -> Decimal:
        """Credits charged in this night, over all sheets."""
        return sum((sheet.charged for sheet in self.sheets), Decimal(0))

    @property
    def exit_status(self) -> int:
        """The worst exit status of the sheets."""
        found = {sheet.exit_status for sheet in self.sheets}
        return max(found, key=BY_GRAVITY.index, default=0)

    def as_json(self) -> dict[str, Any]:
        """Return it as `callsheet nightly --json` tells it."""
        told: dict[str, Any] = {
            "night": self.night,
            "sheets": [sheet.as_json() for sheet in self.sheets],
            "charged": as_number(self.charged),
            "exit": self.exit_status,
        }
        more = {"skipped": self.skipped, "waiting": list(self.waiting)}
        return told | {name: value for name, value in more.items() if value}

    def as_text(self) -> str:
        """Return the text that the ledger stores (`nights.report`)."""
        return _NIGHT.dump_json(self).decode()

    @classmethod
    def read(cls, text: str) -> NightReport:
        """Read the text of `as_text`."""
        return _NIGHT.validate_json(text)


_NIGHT = TypeAdapter(NightReport)
