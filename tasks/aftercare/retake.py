"""Retakes: what they cost, and what a flow run has already approved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.campaign.plan import asked_of
from callsheet.tasks.campaign.plan_document import store_approved
from callsheet.tasks.campaign.quotes import ask_prices, check_wanted
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.engine.context import Context
from callsheet.tasks.ledger.audit_log import has_acted, note_act
from callsheet.tasks.ledger.campaigns import Campaign, set_budget
from callsheet.tasks.ledger.figures import Figures, figures_of
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import Quoted, too_dear
from callsheet.tasks.ledger.reviews import Review, kept_rows, last_reviews
from callsheet.tasks.ledger.takes import approve_retakes
from callsheet.tasks.ledger.values import UNDER_WAY, CampaignRow, rows_of
from callsheet.tasks.runtime.errors import MovedOn, SpendRefused
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import count, in_credits

#: What happens to the earlier take, if anything.
LEFT_BEHIND = {
    "stalled": "its video may still finish and be charged: its reserved credits stay reserved "
    "(`{cancel}` first releases it)",
    "uncertain": "it may have been paid for: its reserved credits count as paid",
}


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A retake of one row: its price, or why it is refused.

    `earlier` is the cost of the earlier takes, including reserved credits; `review` is their last
    review.
    """

    row: CampaignRow
    price: Decimal | None
    refusal: str | None
    earlier: Decimal
    review: Review | None = None

    @property
    def words(self) -> str | None:
        """The note of a row: the refusal, what happens to the earlier take, and its review."""
        said = self.review.words if self.review else None
        return self.refusal or "; ".join(filter(None, (said, self.left_behind))) or None

    @property
    def left_behind(self) -> str | None:
        """What happens to the earlier take, if that has not ended."""
        words = LEFT_BEHIND.get(self.row.state)
        return words and words.format(cancel=suggest("cancel", self.row.campaign, self.row.row))


async def offers(at: Context, campaign: Campaign, rows: Sequence[CampaignRow]) -> list[Offer]:
    """Ask the service for the price of a retake of each row; write nothing.

    Raise ConfigurationError or Parked if the service cannot be asked.
    """
    rows = [row.for_new_video() for row in rows]
    spent = await at.ledger.read(figures_of, campaign_id=campaign.id)
    said = await at.ledger.read(last_reviews, campaign_id=campaign.id)
    prices = await ask_prices(at.service, rows, at_once=at.settings.polls_at_once, clock=at.clock)

    def offer(row: CampaignRow) -> Offer:
        price, refusal, _ = prices[row.row]
        figures = spent.get(row.id, Figures())
        earlier = figures.reserved + (figures.charged or Decimal(0))
        refusal = refusal or too_dear(row, price, instead=" and run that")
        return Offer(
            row=row, price=price, refusal=refusal, earlier=earlier, review=said.get(row.id)
        )

    return [offer(row) for row in rows]


def plan_of(campaign: Campaign, found: Sequence[Offer], budget: Decimal | None) -> Plan:
    """Return the offers that are not refused as a plan, to check against the budget."""
    lines = (
        PlanLine(
            row=offer.row.row,
            title=offer.row.title,
            **asked_of(offer.row),
            action="retake",
            digest=offer.row.digest,
            priced=offer.price,
            state=offer.row.state,
            why=offer.words,
        )
        for offer in found
        if offer.refusal is None
    )
    return Plan.of_rows(campaign, lines, budget)


async def approve_offers(
    at: Context,
    campaign: Campaign,
    found: Sequence[Offer],
    *,
    by: str,
    because: str | None,
    budget: Decimal | None,
    even_kept: bool = False,
    run: str | None = None,
) -> None:
    """Approve every offer that is not refused, or none; store them as a plan with its approval.

    `run` is the id of a flow run.

    Raise SpendRefused if a row has changed or the campaign was cancelled since the offer, or if the
    flow run has already approved.
    """
    wanted = [Quoted(offer.row, offer.price) for offer in found if not offer.refusal]
    asked = plan_of(campaign, found, budget).approved(by)
    now = at.clock()

    def change(connection: Connection) -> None:
        plan = store_approved(connection, asked, kind="retake", at=now)
        approve = partial(approve_wanted, by=plan.by, because=because, budget=budget, at=now)
        approve(connection, campaign, wanted, even_kept=even_kept, run=run)

    await at.ledger.write(change)


def approve_wanted(
    connection: Connection,
    campaign: Campaign,
    wanted: Sequence[Quoted],
    *,
    by: str,
    because: str | None,
    budget: Decimal | None,
    at: float,
    even_kept: bool = False,
    run: str | None = None,
) -> None:
    """Approve a retake of every row at its price in one transaction, or of none.

    Raise MovedOn for a row that has changed or, without `even_kept`, is kept; SpendRefused if the
    campaign was cancelled, or the flow run `run` has already approved.
    """
    check_wanted(connection, campaign)
    if run is not None:
        total = sum((one.amount or Decimal(0) for one in wanted), Decimal(0))
        words = f"{in_credits(total)}, {by}"
        approve_once(connection, campaign, run=run, rows=len(wanted), words=words, at=at)
    late = approve_retakes(connection, wanted, by=by, because=because, at=at, even_kept=even_kept)
    if late:
        named = ", ".join(row.row for row in late)
        kept = set() if even_kept else kept_rows(connection, campaign.id)
        how = "is kept" if kept >= {row.id for row in late} else "changed"
        raise MovedOn(f"{named} {how} meanwhile; nothing was approved or spent")
    if budget is not None:
        set_budget(connection, campaign, budget=budget, at=at)


def count_videos(number: int) -> str:
    """Return the number of retakes in words."""
    return count(number, "more video")


# Approvals of a flow run, so that a restarted run does not approve again.
#
# Prefect restarts a run after a crash, a pause or a scheduled wait, and its run count leaves out
# resumed runs. So the ledger records the flow run with the approval.


ACT = "approve"


async def has_approved(ledger: Ledger, campaign: Campaign, *, run: str) -> bool:
    """Return whether a flow run has already approved its rows."""
    return await ledger.read(has_acted, act=ACT, by=_name(run), campaign=campaign.name)


async def begun_rows(ledger: Ledger, campaign: Campaign) -> list[str]:
    """Return the rows of a campaign that are approved or in progress, in sheet order."""
    found = await ledger.read(rows_of, campaign_id=campaign.id)
    return [row.row for row in found if row.state in UNDER_WAY | {"approved"}]


def approve_once(
    connection: Connection, campaign: Campaign, *, run: str, rows: int, words: str, at: float
) -> None:
    """Record the approval of a flow run; raise SpendRefused if it has already approved.

    Call this in the transaction of the approval, after locking the campaign, so that another
    process of the same run waits.
    """
    by = _name(run)
    if has_acted(connection, act=ACT, by=by, campaign=campaign.name):
        raise SpendRefused(f"{by} has already approved its rows; nothing more was spent")
    note_act(connection, at=at, by=by, act=ACT, campaign=campaign.name, rows=rows, words=words)


def _name(run: str) -> str:
    return f"flow run {run}"
