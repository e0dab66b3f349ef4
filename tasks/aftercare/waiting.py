"""Rows that wait for an approval: which they are, at what price, and what approving them writes.

They are approved from the ledger, without the sheet; the first videos that they waited for are
kept with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection

from callsheet.tasks.campaign.approve import Effect, Lines, Verb, approve_lines
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.propose import campaign_asked, line_of, plan_of_rows, rows_named
from callsheet.tasks.campaign.quotes import check_elsewhere
from callsheet.tasks.campaign.report import exit_status
from callsheet.tasks.campaign.values import PAID, Plan, PlanLine
from callsheet.tasks.campaign.waits import canaries_of, wave_of
from callsheet.tasks.ledger.campaigns import Campaign, paid_elsewhere
from callsheet.tasks.ledger.deliveries import verdicts_of
from callsheet.tasks.ledger.diff import Action
from callsheet.tasks.ledger.plans import approver_in
from callsheet.tasks.ledger.present_rows import present_rows
from callsheet.tasks.ledger.quotes import (
    Quoted,
    changed_since,
    record_quote,
)
from callsheet.tasks.ledger.reviews import review
from callsheet.tasks.ledger.values import UNDER_WAY, CampaignRow, rows_by_number, rows_of
from callsheet.tasks.values.amounts import in_credits
from callsheet.tasks.values.edits import edit_of


def plan_waiting(connection: Connection, ask: RunOptions, *, make: bool = False) -> Plan:
    """Plan the rows of a campaign that wait for an approval; write nothing.

    `elsewhere` is what other campaigns have paid for of them. Raise NotHere for no such campaign.
    """
    campaign = campaign_asked(connection, ask)
    lines = map(_line, waiting_rows(connection, campaign))
    plan = plan_of_rows(connection, campaign, lines, ask)
    wanted = [pair for line in plan.spending for pair in line.pairs]
    found = paid_elsewhere(connection, campaign.id, wanted, sandbox=bool(campaign.sandbox))
    return replace(plan, sheet_digest=campaign.sheet_digest or "", elsewhere=tuple(found))


def plan_waiting_and_rest(connection: Connection, ask: RunOptions, *, make: bool = False) -> Plan:
    """Plan the rows that wait, and with `make` all others as a run of the sheet goes on with them.

    First videos may be under way still. Where nothing waits or is under way there are no lines.
    """
    plan = plan_waiting(connection, ask, make=make)
    rows = rows_in_sheet(connection, campaign_asked(connection, ask))
    if not make or not (plan.lines or exit_status({row.state for row in rows}) == 5):
        return plan
    waiting = set(plan.named(*PAID))
    rest = (line_of(row, "fetch") for row in rows if row.row not in waiting)
    return replace(plan, lines=(*plan.lines, *rest))


def waiting_rows(connection: Connection, campaign: Campaign) -> list[CampaignRow]:
    """Return the rows of a campaign that wait for an approval, in sheet order.

    Rows on hold for first videos are included if these exist and none is rejected: rows that wait
    for a canary, and those of the next wave.
    """
    rows = rows_in_sheet(connection, campaign)
    released = first_videos_of(connection, campaign, rows)
    return [row for row in rows if row.state == "quoted" or row.row in released]


def first_videos_of(
    connection: Connection, campaign: Campaign, rows: Sequence[CampaignRow]
) -> dict[str, list[str]]:
    """Return the rows on hold that a person may release, each with the videos that it waits for.

    `rows` are all enabled rows of the campaign. Of several waves only the next one is released, and
    none while a row waits for a canary or a video is rejected or in progress.
    """
    said = verdicts_of(connection, campaign.id)
    held = [row for row in rows if row.state == "held" and not (row.take and row.take.stands)]
    good = {row for row, verdict in said.items() if verdict != "reject"}
    canaries = {row.row: canaries_of([row.reason]) for row in held}
    found = {row: first for row, first in canaries.items() if first and good.issuperset(first)}
    videos = [row.row for row in rows if row.row in said and row.state != "retired"]
    under_way = any(row.state in UNDER_WAY or row.state == "approved" for row in rows)
    resting = not under_way and not any(canaries.values())
    if videos and resting and good.issuperset(videos):
        waves = {row.row: wave for row in held if (wave := wave_of(row.reason))}
        following = min(waves.values(), default=None)
        found |= {row: videos for row, wave in waves.items() if wave == following}
    return found


def rows_in_sheet(connection: Connection, campaign: Campaign) -> list[CampaignRow]:
    """Return the rows of a campaign that a run of its sheet is about."""
    rows = rows_of(connection, campaign.id)
    return [row for row in rows if row.enabled and row.state != "retired"]


def _line(row: CampaignRow) -> PlanLine:
    edit = edit_of(row.operation)
    action: Action = "edit" if edit else "retake" if row.take else "make"
    # What another take of the same brief waits for is no change of the row.
    same = row.take is not None and row.take.digest == row.digest
    why = row.reason or ("another take" if same else None)
    return line_of(row, action, why, edit_of=edit)


# What approving them writes.


def approve_waiting(
    connection: Connection, campaign: Campaign, lines: Lines, plan: Plan, at: float
) -> None:
    """Approve rows at the prices of their lines, and keep the first videos that they waited for."""
    held = [line.row for line in lines.values() if line.state == "held"]
    videos = _released(connection, campaign, held) if held else []
    names = [line.row for line in lines.values()]
    known = present_rows(connection, campaign.id, names, locked=False).values()
    asked = {row.id for row in known if row.state == "quoted" and row.quoted is not None}
    for row in rows_by_number(connection, [number for number in lines if number not in asked]):
        _record_price(connection, row, lines[row.id], plan.priced_at or at)
    approve_lines(connection, campaign, lines, plan, at)
    by = approver_in(plan.by).removeprefix("approved by ")
    _keep(connection, campaign, videos, by=by, at=at)


def _released(connection: Connection, campaign: Campaign, held: Sequence[str]) -> list[str]:
    """Return the first videos of rows on hold; raise MovedOn for one that waits on."""
    videos = first_videos_of(connection, campaign, rows_in_sheet(connection, campaign))
    if gone := [row for row in held if row not in videos]:
        raise changed_since([f"{row}: it no longer waits for approval" for row in gone])
    return list(dict.fromkeys(video for row in held for video in videos[row]))


def _record_price(connection: Connection, row: CampaignRow, line: PlanLine, at: float) -> None:
    """Have a row at the price that was shown, off hold; raise MovedOn where it has another."""
    if row.quoted is not None and row.quoted != line.priced:
        words = f"{in_credits(line.priced)} then, {in_credits(row.quoted)} now"
        raise changed_since([f"{row.row}: {words}"])
    record_quote(connection, Quoted(row, line.priced), at=at)


def _keep(
    connection: Connection, campaign: Campaign, videos: Sequence[str], *, by: str, at: float
) -> None:
    """Keep first videos on which no one has decided."""
    said = verdicts_of(connection, campaign.id)
    for row in rows_named(connection, campaign.name, videos):
        if row.take is not None and said.get(row.row) not in ("keep", "reject"):
            review(connection, row.take.id, "keep", by=by, at=at)


_EFFECT = Effect(frozenset({"quoted", "held"}), approve_waiting)
WAITING = Verb("run", plan_waiting, dict.fromkeys(PAID, _EFFECT), checks=(check_elsewhere,))
WAITING_AND_REST = WAITING._replace(plan=plan_waiting_and_rest)
