"""Retakes: of which rows, at what the service asks now, and what approving one writes."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.aftercare.explain import run_line
from callsheet.tasks.campaign.approve import Effect, Lines, Verb
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.propose import campaign_asked, line_of, plan_of_rows
from callsheet.tasks.campaign.selection import rows_asked
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.decisions import RETAKEABLE, approve_retakes
from callsheet.tasks.ledger.diff import Action
from callsheet.tasks.ledger.figures import Figures, figures_of
from callsheet.tasks.ledger.quotes import Quoted
from callsheet.tasks.ledger.reviews import Review, kept_rows, last_reviews
from callsheet.tasks.ledger.values import UNDER_WAY, CampaignRow, rows_by_number
from callsheet.tasks.runtime.errors import BadInput, VideoKept
from callsheet.tasks.runtime.suggest import suggest

#: State -> what happens to the earlier take, if anything.
LEFT_BEHIND = {
    "stalled": "its video may still finish and be charged: its reserved credits stay reserved "
    "(`{cancel}` first releases it)",
    "uncertain": "it may have been paid for: its reserved credits count as paid",
}
_STARTED = "it has started: `{run}` finishes it"
_NEXT = "its next take is not approved yet: `{run}` shows its price and makes it"
#: State -> why a row is not taken again, and what `{run}` does instead.
_WHY_NOT = {
    "retired": "it has left the sheet: put it back, and `{run}` takes it up again",
    **dict.fromkeys(("planned", "quoted"), _NEXT),
    **dict.fromkeys(("submitting", "rendering", "ready"), _STARTED),
}
_OFF = "it is switched off in the sheet: write yes into its cell of `enabled`, and run that"
_KEPT = "its video is kept: name the row and say --even-kept to make another all the same"
_LATER = "not retaken while other rows are unfinished: they are finished first"
BEFORE = "approved or under way before"


def plan_retakes(connection: Connection, ask: RunOptions, *, make: bool = False) -> Plan:
    """Plan a retake of every chosen row, without prices; write nothing.

    With `make` the rows are made at once, and rows that are approved or under way go first: the
    same command again, after it broke off, pays for nothing once more. Rows of a stored plan that
    cannot be taken again any more are left out; of rows that a person names, raise VideoKept or
    BadInput. Raise NotHere for a campaign or row that is not there.
    """
    if not ask.rows and not ask.select:
        failed = suggest("retake", ask.campaign or "", "--select", "state:failed|stalled")
        raise BadInput(
            "say which rows are to be taken again; nothing was spent",
            remedy=f"name them, or choose them: `{failed}`",
        )
    if ask.even_kept and not ask.rows:
        raise BadInput(
            "--even-kept takes rows that are named; nothing was spent",
            remedy="a kept video is retaken only if you name its row",
        )
    campaign = campaign_asked(connection, ask)
    rows = rows_asked(connection, campaign, ask.rows, ask.select, end="; nothing was spent")
    lines = _lines(connection, campaign, rows, ask, make=make)
    if ask.rows and not ask.saved_plan:
        _check_named(lines)
    if make and any(line.action == "fetch" for line in lines):
        lines = [
            line._replace(action="wait", why=_LATER) if line.action == "retake" else line
            for line in lines
        ]
    return plan_of_rows(connection, campaign, lines, ask)


def _lines(
    connection: Connection,
    campaign: Campaign,
    rows: Sequence[CampaignRow],
    ask: RunOptions,
    *,
    make: bool,
) -> list[PlanLine]:
    kept = kept_rows(connection, campaign.id)
    spent, said = figures_of(connection, campaign.id), last_reviews(connection, campaign.id)
    clients = last_reviews(connection, campaign.id, "client")

    def line(row: CampaignRow) -> PlanLine:
        is_kept, review = row.id in kept, said.get(row.id)
        action, why = _action(campaign, row, is_kept=is_kept and not ask.even_kept, make=make)
        price = row.quoted
        if action == "retake":
            price, why = None, _note(row, review, clients.get(row.id))
        figures = spent.get(row.id, Figures())
        charged = figures.reserved + (figures.charged or Decimal(0))
        more = {"priced": price, "charged": charged, "kept": is_kept, "review": review}
        return line_of(row, action, why, **more)

    return [line(row) for row in rows]


def _action(
    campaign: Campaign, row: CampaignRow, *, is_kept: bool, make: bool
) -> tuple[Action, str | None]:
    """Return what happens to a chosen row, and why it is not taken again."""
    if row.state in RETAKEABLE and is_kept:
        return "none", _KEPT
    if row.state in RETAKEABLE and row.enabled:
        return "retake", None
    if row.state == "approved" or (make and row.state in UNDER_WAY):
        return "fetch", BEFORE
    return "none", _WHY_NOT.get(row.state, _OFF).format(run=run_line(campaign))


def _note(row: CampaignRow, review: Review | None, client: Review | None) -> str | None:
    """Say what was said last of the videos of a row, and what happens to the take it has."""
    left = LEFT_BEHIND.get(row.state, "")
    left = left.format(cancel=suggest("cancel", row.campaign, row.row))
    said = "" if review is None else review.words
    told = "" if client is None else f"by the client: {client.words}"
    return "; ".join(filter(None, (said, told, left))) or None


def _check_named(lines: Sequence[PlanLine]) -> None:
    """Raise VideoKept or BadInput for the first row that is not taken again."""
    line = next((line for line in lines if line.action == "none"), None)
    if line is None:
        return
    if line.why == _KEPT:
        words = f"{line.row} cannot be taken again, its video is kept; nothing was spent"
        raise VideoKept(words, remedy=_KEPT)
    words = f"{line.row} cannot be taken again, it is {line.state}; nothing was spent"
    raise BadInput(words, remedy=line.why)


def retake(connection: Connection, campaign: Campaign, lines: Lines, plan: Plan, at: float) -> None:
    """Approve another take of rows, each at the price of its line."""
    rows = rows_by_number(connection, list(lines))
    wanted = [Quoted(row, lines[row.id].priced) for row in rows]
    priced_at = plan.priced_at or at
    writing = partial(approve_retakes, connection, wanted, priced_at=priced_at)
    writing(by=plan.by, because=plan.because, at=at)


RETAKE = Verb("retake", plan_retakes, {"retake": Effect(RETAKEABLE, retake)})
