"""What a run has spent when an error stops it: read from the ledger, never guessed from the error.

Owns the words about money of a run that stopped. An error that is raised before a run begins to
pay keeps its own words and exit status.
"""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from functools import partial
from typing import Protocol

from callsheet.tasks.engine.context import Context
from callsheet.tasks.ledger.campaigns import Campaign, Tally, tally_of
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.values import UNDER_WAY
from callsheet.tasks.runtime.errors import NOTHING_SPENT, CallsheetError, RunStopped
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import in_credits

_AGAIN = "run the same command again: nothing is paid for twice"


class Spender(Protocol):
    """What is known of a run that may pay: its campaign, and that campaign's figures before it."""

    at: Context
    campaign: Campaign | None
    pays: bool
    charged_before: Decimal
    reserved_before: Decimal


@asynccontextmanager
async def telling_what_was_spent(find: Callable[[], Spender | None]) -> AsyncIterator[None]:
    """Have an error that leaves a run say what the run spent; `find` returns the run.

    Raises RunStopped instead of an error that stops a run after it began to pay.
    """
    try:
        yield
    except (CallsheetError, OSError) as error:
        run = find()
        if run is None or not run.pays or _is_refusal_in_order(error):
            raise
        stopped = _stopped_by(error)
        if stopped is None:
            raise
        tally = await _tally_of(run)
        if tally is not None and _is_untouched(run, tally):
            if not isinstance(error, RunStopped):
                raise
            raise stopped.saying(NOTHING_SPENT, spent=Decimal(0)) from error
        raise stopped.saying(_words_of(run, tally), spent=_spent(run, tally)) from error


def _is_refusal_in_order(error: BaseException) -> bool:
    """Whether an error is an orderly end of a run, which has words and figures of its own."""
    return isinstance(error, CallsheetError) and error.exit_status in (3, 5)


def _stopped_by(error: BaseException) -> RunStopped | None:
    """Return an error as what stopped a run; None for a fault that is to be reported as one."""
    if isinstance(error, RunStopped):
        return error
    if isinstance(error, CallsheetError):
        return RunStopped.by(error, remedy=error.remedy or _AGAIN)
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        remedy = f"make room, then {_AGAIN}"
        return RunStopped("the run stopped: the disk is full", remedy=remedy)
    return None


async def _tally_of(run: Spender) -> Tally | None:
    """Return the campaign's figures, read with a connection of its own; None where that fails."""
    assert run.campaign is not None, "a run that pays has a campaign"
    try:
        async with await open_ledger(run.at.settings.ledger, create=False, lock_wait=1.0) as ledger:
            return await ledger.read(partial(tally_of, campaign=run.campaign))
    except (CallsheetError, OSError):
        return None


def _is_untouched(run: Spender, tally: Tally) -> bool:
    """Whether it is certain that the run spent nothing: nothing moved, and no row is under way."""
    moved = tally.paid_here != run.charged_before or tally.reserved != run.reserved_before
    return not moved and not any(tally.rows.get(state) for state in UNDER_WAY)


def _words_of(run: Spender, tally: Tally | None) -> str:
    assert run.campaign is not None
    if tally is None:
        status = suggest("status", run.campaign.name)
        return f"what it was charged is in the ledger: `{status}`"
    charged = in_credits(tally.paid_here - run.charged_before)
    return f"this run was charged {charged}, and {in_credits(tally.reserved)} are reserved"


def _spent(run: Spender, tally: Tally | None) -> Decimal | None:
    return None if tally is None else tally.paid_here - run.charged_before + tally.reserved
