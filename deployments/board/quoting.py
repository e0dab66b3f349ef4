"""Plans get their prices in the background: whichever board is open asks for those that lack them.

A board that ends meanwhile leaves a plan that is still `quoting`; the next one asks again.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from callsheet.deployments.board.acts.sheets import kept_sheet, parsed
from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.tasks.aftercare.retake import offers
from callsheet.tasks.aftercare.retake_plan import retake_document, rows_named
from callsheet.tasks.campaign.board_plan import PlanTerms, run_document
from callsheet.tasks.campaign.priced_plan import plan_with_prices
from callsheet.tasks.crash import crashpoint
from callsheet.tasks.credits import parse_credits
from callsheet.tasks.engine.context import connect
from callsheet.tasks.errors import CallsheetError, SheetError
from callsheet.tasks.ledger import (
    RETAKEABLE,
    KeptPlan,
    find_campaign,
    find_plan,
    finish_plan,
    kept_rows,
    void_plan,
)
from callsheet.tasks.redact import redact

log = logging.getLogger("callsheet.board")

#: Problems of a sheet that are named where a plan cannot be priced for them.
NAMED = 10


async def quote_plan(board: Board, plan_id: str) -> None:
    """Ask for a plan's prices and make it ready; void it, with the words why, where that fails."""
    plan = await board.read(partial(find_plan, plan_id=plan_id))
    if plan is None or plan.state != "quoting":
        return
    try:
        document = await (_run(board, plan) if plan.kind == "run" else _retake(board, plan))
    except (CallsheetError, ProblemDetails) as error:
        await board.write(partial(void_plan, plan_id=plan.id, old="quoting", words=_words(error)))
        return
    except Exception:
        # Not left as it is: it would be asked for again and again.
        log.exception("a plan has no prices")
        words = "a fault in Callsheet; nothing was spent"
        await board.write(partial(void_plan, plan_id=plan.id, old="quoting", words=words))
        return
    crashpoint("board: the prices of a plan are known")
    total = parse_credits(document["credits"]["total"])
    assert total is not None
    ready = partial(finish_plan, plan_id=plan.id, campaign=document["campaign"], total=total)
    expires_at = board.clock() + board.settings.quote_age
    await board.write(partial(ready, document=document, expires_at=expires_at))


async def _run(board: Board, plan: KeptPlan) -> dict[str, Any]:
    assert plan.sheet_id is not None
    terms = PlanTerms.read(plan.terms)
    kept = await kept_sheet(board, plan.sheet_id)
    sheet = await parsed(board, kept, terms)
    price = partial(plan_with_prices, settings=board.settings, clock=board.clock)
    return run_document(await price(board.ledger, sheet, terms.options(kept)))


async def _retake(board: Board, plan: KeptPlan) -> dict[str, Any]:
    terms = PlanTerms.read(plan.terms)
    campaign = await board.read(partial(find_campaign, name=plan.campaign))
    if campaign is None:
        raise CallsheetError(f"there is no campaign {plan.campaign} any more")
    rows = await board.read(partial(rows_named, campaign=campaign, names=terms.rows or ()))
    kept = await board.read(partial(kept_rows, campaign_id=campaign.id))
    kept = frozenset() if terms.even_kept else kept
    fit = [r for r in rows if r.state in RETAKEABLE and r.enabled and r.id not in kept]
    if not fit:
        raise CallsheetError("none of these rows can be taken again any more")
    async with connect(board.settings, clock=board.clock) as at:
        document = retake_document(campaign, await offers(at, campaign, fit))
    return document | {"because": terms.because}


def _words(error: CallsheetError | ProblemDetails) -> str:
    if isinstance(error, SheetError):
        return redact("; ".join(str(one) for one in error.problems[:NAMED]))
    words = error.detail if isinstance(error, ProblemDetails) else str(error)
    return redact(f"{words} ({error.remedy})" if error.remedy else words)
