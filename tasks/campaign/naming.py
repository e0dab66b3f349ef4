"""What files of the newest campaign would be called by settings that someone tries.

Reads rows as the sheet had them. Knows no setting that is in force, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from callsheet.tasks.ledger.campaigns import all_campaigns
from callsheet.tasks.ledger.row_pages import numbers_shown
from callsheet.tasks.ledger.values import cells_of, rows_of
from callsheet.tasks.runtime.errors import BadInput, Problem, shorten
from callsheet.tasks.sheet.headers import canonical_header
from callsheet.tasks.sheet.placeholders import Naming
from callsheet.tasks.sheet.table import Cell, Findings
from callsheet.tasks.values.briefs import Brief
from callsheet.tasks.values.names import DEFAULT_NAMES, object_name

#: Rows from the top of a campaign that names are tried on, and those that are shown.
TRIED, SHOWN = 5_000, 3


@dataclass(frozen=True, kw_only=True)
class NameExample:
    """The first rows of the newest campaign, and the video of each as it would be called."""

    campaign: str
    files: Sequence[tuple[str, str]]


def try_names(
    connection: Connection, names: str, addresses: Sequence[str] = (), *, local: bool = True
) -> NameExample | None:
    """Return an example of a template; None where there is no campaign yet.

    Only someone at this machine (`local`) may have copies made in a folder of it.
    Raise BadInput for a template, or an address of copies, that would keep a run of the newest
    campaign from being planned: no such column, an illegal name, two files with one name.
    """
    campaign, briefs = _newest(connection)
    columns = {canonical_header(header) for brief in briefs for header, _ in brief.cells}
    findings = Findings("names")
    naming = Naming(findings, campaign=campaign, columns=columns, cells={})
    if names != DEFAULT_NAMES:
        briefs = naming.named(briefs, Cell("names", names, None, "the template"))
    if addresses:
        cell = Cell("copies", list(addresses), None, "the address")
        naming.copied(briefs, cell, local=local)
    if findings.problems:
        raise BadInput(_words(findings.problems[0]))
    files = [
        (one.row, object_name(one.name, campaign=campaign, row=one.row, take=1, kind="mp4"))
        for one in briefs[:SHOWN]
    ]
    return NameExample(campaign=campaign, files=files) if files else None


def _newest(connection: Connection) -> tuple[str, Sequence[Brief]]:
    """Return the newest campaign's name and rows, as far as what names files needs them."""
    campaign = next(iter(all_campaigns(connection)), None)
    if campaign is None:
        return "campaign", ()
    numbers = numbers_shown(connection, campaign.id)[:TRIED]
    cells = cells_of(connection, campaign.id, numbers=numbers)
    return campaign.name, [
        Brief(
            row=row.row,
            request=row.asked(),
            operation=row.operation,
            captions=row.captions,
            enabled=row.enabled,
            priority=row.priority,
            max_credits=row.max_credits,
            tags=row.tags,
            cost_center=row.cost_center,
            notes=row.notes,
            line=row.line,
            cells=cells[row.id],
        )
        for row in rows_of(connection, campaign.id, numbers=numbers)
        if row.state != "retired"
    ]


def _words(problem: Problem) -> str:
    said = problem.message
    if problem.value is not None:
        said = f'"{shorten(problem.value, 80)}" {said}'
    elif problem.column:
        said = f"the column {problem.column} {said}"
    return f'row "{shorten(problem.row)}": {said}' if problem.row else said
