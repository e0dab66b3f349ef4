"""Other takes of rows: a plan with a price for each, approved and carried out like any other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Person
from callsheet.tasks.campaign.board_plan import PlanTerms
from callsheet.tasks.campaign.match import is_other_money
from callsheet.tasks.campaign.plan_keeping import ask_plan
from callsheet.tasks.campaign.selection import choose_rows
from callsheet.tasks.campaign.values import RunOptions
from callsheet.tasks.ledger import (
    RETAKEABLE,
    Campaign,
    CampaignRow,
    Ledger,
    find_campaign,
    kept_rows,
    rows_of,
)
from callsheet.tasks.suggest import suggest


async def plan_of_retakes(
    board: Board,
    person: Person,
    campaign: str,
    *,
    rows: Sequence[str] | None = None,
    select: str | None = None,
    because: str | None = None,
    even_kept: bool = False,
) -> str:
    """Have other takes of rows priced; return the id of the plan, while it is being quoted.

    `rows` names them, `select` chooses among those that can be taken again. A video that somebody
    keeps is taken again where it is named, with `even_kept`: a selection leaves it out.

    Raises ProblemDetails: 404 for no such campaign, 422 for rows that are not there or cannot be
    taken again, or for none.
    """
    if not rows and not select:
        raise ProblemDetails(
            422, "say which rows are to be taken again", remedy='"rows": [...] or "select": "..."'
        )
    found = await campaign_named(board, campaign)
    if is_other_money(found, RunOptions(sheet=found.sheet or "", sandbox=board.sandbox)):
        made = "with --sandbox" if found.sandbox else "with a real service"
        raise ProblemDetails(409, f"campaign {campaign} was made {made}; nothing was spent")
    chosen = await _choose(board.ledger, found, rows, select)
    if not (even_kept and rows):
        chosen = await _without_kept(board.ledger, found, chosen, named=bool(rows))
    terms = PlanTerms(
        rows=tuple(row.row for row in chosen),
        because=because,
        even_kept=even_kept,
        sandbox=board.sandbox,
    )
    plan_id = board.token()
    change = partial(ask_plan, plan_id=plan_id, kind="retake", campaign=campaign)
    change = partial(change, terms=terms.as_json(), by=person.name, at=board.clock())
    await board.write(change)
    board.attention.set()
    return plan_id


async def campaign_named(board: Board, name: str) -> Campaign:
    """Return a campaign; raises ProblemDetails (404) for none."""
    found = await board.read(partial(find_campaign, name=name))
    if found is None:
        raise ProblemDetails(404, f"there is no campaign {name}")
    return found


async def rows_chosen(
    ledger: Ledger, campaign: Campaign, rows: Sequence[str] | None, select: str | None
) -> list[CampaignRow]:
    """Return the rows that are named, or chosen; raises ProblemDetails (422) for no such row."""
    known = await ledger.read(partial(rows_of, campaign_id=campaign.id))
    missing = set(rows or ()) - {row.row for row in known}
    if missing:
        named = ", ".join(sorted(missing)[:20])
        raise ProblemDetails(422, f"campaign {campaign.name} has no row {named}")
    return choose_rows(known, rows, select)


async def _choose(
    ledger: Ledger,
    campaign: Campaign,
    rows: Sequence[str] | None,
    select: str | None,
) -> list[CampaignRow]:
    chosen = await rows_chosen(ledger, campaign, rows, select)
    fit = [row for row in chosen if row.state in RETAKEABLE and row.enabled]
    unfit = [row for row in chosen if row not in fit]
    if rows and unfit:
        row = unfit[0]
        raise ProblemDetails(
            422,
            f"{row.row} cannot be taken again, it is {row.state}; nothing was spent",
            remedy=f"`{suggest('explain', campaign.name, row.row)}` says what can be done",
        )
    if not fit:
        raise ProblemDetails(422, "none of these rows can be taken again; nothing was spent")
    return fit


async def _without_kept(
    ledger: Ledger, campaign: Campaign, chosen: list[CampaignRow], *, named: bool
) -> list[CampaignRow]:
    """Return rows without those whose video is kept; ProblemDetails (422) for a named one."""
    kept = await ledger.read(partial(kept_rows, campaign_id=campaign.id))
    found = [row for row in chosen if row.id not in kept]
    if found == chosen or (found and not named):
        return found
    names = ", ".join(row.row for row in chosen if row.id in kept)
    raise ProblemDetails(
        422, f"the videos of {names[:300]} are kept; nothing was spent",
        remedy='"even_kept": true has them made again all the same',
    )  # fmt: skip
