"""Why a plan pays though its campaign has a video like the one that is asked for, in words."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.ledger.diff import changed_fields
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.values import delivered_briefs, rows_of
from callsheet.tasks.sheet import Sheet


def with_like_videos(connection: Connection, campaign_id: int, plan: Plan, sheet: Sheet) -> Plan:
    """Return the plan with the reason why a row is paid for though another one has its video.

    That is another row with the same brief, or the row that a matrix now makes it from.
    """
    why = _same_brief(connection, campaign_id, plan)
    why |= {r: w for r, w in _bases(connection, campaign_id, plan, sheet).items() if r not in why}
    if not why:
        return plan
    return replace(plan, lines=tuple(_because(line, why.get(line.row)) for line in plan.lines))


def _because(line: PlanLine, why: str | None) -> PlanLine:
    return line._replace(why="; ".join(filter(None, (line.why, why)))) if why else line


def _same_brief(connection: Connection, campaign_id: int, plan: Plan) -> dict[str, str]:
    """Say of the rows that are paid for which other one has a video of the same brief."""
    now = {line.was: line.row for line in plan.lines if line.was}
    found: dict[str, str] = {}
    for page in pages_of(plan.spending):
        named = [line.digest for line in page]
        have = delivered_briefs(connection, campaign_id, named)
        for line in page:
            others = (now.get(row, row) for row in have.get(line.digest, ()))
            if other := next((row for row in others if row != line.row), None):
                found[line.row] = f"{other} has a video of the same brief"
    return found


def _bases(connection: Connection, campaign_id: int, plan: Plan, sheet: Sheet) -> dict[str, str]:
    """Say of new variants what is different in the video of the row that they were before."""
    there = {brief.row for brief in sheet.briefs} | {line.was for line in plan.lines if line.was}
    made = {line.row for line in plan.spending if line.variant_of and line.action == "make"}
    variants = [b for b in sheet.briefs if b.row in made and b.variant_of not in there]
    found: dict[str, str] = {}
    for page in pages_of(variants):
        named = {brief.variant_of for brief in page if brief.variant_of}
        bases = {row.row: row for row in rows_of(connection, campaign_id, named=named)}
        for brief in page:
            base = bases.get(brief.variant_of or "")
            if base is not None and base.take is not None and base.take.delivered_at is not None:
                fields = changed_fields(base.take.asked(), brief.request)
                found[brief.row] = f"the video of {base.row} is another one: {', '.join(fields)}"
    return found
