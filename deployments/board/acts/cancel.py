"""Cancelling rows, or the rest of a campaign: what has not begun at once, the rest as it can be."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from callsheet.deployments.board.acts.retakes import campaign_named, rows_chosen
from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Person
from callsheet.tasks.aftercare.approval import cancel_on_board
from callsheet.tasks.aftercare.cancel import LIVE, carry_out, endings, needs_service
from callsheet.tasks.campaign.match import is_other_money
from callsheet.tasks.campaign.values import RunOptions
from callsheet.tasks.credits import as_number
from callsheet.tasks.engine.context import connect
from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.ledger import Campaign, CampaignRow, find_campaign, note_act, rows_of

log = logging.getLogger("callsheet.board")

_under_way: set[asyncio.Task[None]] = set()


@dataclass(frozen=True, kw_only=True)
class Cancelled:
    """How many rows are to be cancelled, how many are by now, and the credits let go by that."""

    asked: int
    cancelled: int
    released: Decimal

    def as_json(self) -> dict[str, int | float | None]:
        """Return the answer of `POST /campaigns/C/cancel`."""
        return {
            "asked": self.asked,
            "cancelled": self.cancelled,
            "released": as_number(self.released),
        }


async def cancel(
    board: Board,
    person: Person,
    campaign: str,
    *,
    rows: Sequence[str] | None = None,
    select: str | None = None,
) -> Cancelled:
    """Cancel rows, or all that is left of a campaign where neither names nor chooses any.

    What is under way is marked, and cancelled by the run that is at work, or in the background
    here. Raises ProblemDetails: 404 for no such campaign, 422 for rows that are not there.
    """
    found = await board.read(partial(find_campaign, name=campaign))
    only: frozenset[str] | None = None
    if rows is not None or select is not None:
        found = await campaign_named(board, campaign)
        chosen = await rows_chosen(board.ledger, found, rows, select)
        only = frozenset(row.row for row in chosen)
        if not only:
            raise ProblemDetails(422, "no row of the campaign is chosen; nothing was cancelled")
    change = partial(cancel_on_board, name=campaign, campaign=found, only=only)
    before, dropped = await board.write(partial(change, by=person.name, at=board.clock()))
    if found is None and not dropped:
        raise ProblemDetails(404, f"there is no campaign {campaign}")
    names = {row.row for row in before}
    after = [] if found is None else await _rows(board, found, names)
    asked = dropped + sum(row.state in LIVE for row in before)
    words = "the rest" if only is None else "rows"
    note = partial(note_act, act="cancel", by=person.name, at=board.clock(), words=words)
    await board.write(partial(note, campaign=campaign, rows=asked))
    if found is not None and needs_service(after) and not _is_other(board, found):
        task = asyncio.create_task(_carry_out(board, found, names))
        _under_way.add(task)
        task.add_done_callback(_under_way.discard)
    ends = endings(before, after)
    return Cancelled(
        asked=asked,
        cancelled=dropped + sum(one.old != one.new for one in ends),
        released=sum((one.released for one in ends), Decimal(0)),
    )


async def leave_cancels() -> None:
    """Leave what is being cancelled to the next run, when the board ends."""
    for task in _under_way:
        task.cancel()
    await asyncio.gather(*_under_way, return_exceptions=True)


async def _carry_out(board: Board, campaign: Campaign, only: Collection[str]) -> None:
    try:
        async with connect(board.settings, clock=board.clock) as at:
            await carry_out(at, campaign, only)
    except CallsheetError as error:
        # What is marked stays so: the next run of the campaign obeys.
        log.warning("not all of %s is cancelled yet: %s", campaign.name, error)


def _is_other(board: Board, campaign: Campaign) -> bool:
    return is_other_money(campaign, RunOptions(sheet="", sandbox=board.sandbox))


async def _rows(board: Board, campaign: Campaign, names: Collection[str]) -> list[CampaignRow]:
    found = await board.read(partial(rows_of, campaign_id=campaign.id))
    return [row for row in found if row.row in names]
