"""Retakes: what they cost, and what a flow run has already approved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.campaign.plan import store_approved
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

# Other takes of rows: what they would cost, on whose word, and carrying them without a sheet.
#
# The ledger has the frozen request of every row, so the sheet need not be there.


#: What happens to the take before, for people, where anything happens to it.
LEFT_BEHIND = {
    "stalled": "its video may still finish and be charged: its reserved credits stay reserved "
    "(`{cancel}` first releases it)",
    "uncertain": "it may have been paid for: its reserved credits count as paid",
}


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Another take of one row: its price, or the words with which it is refused.

    `earlier` is what the takes before it cost, and what is still set aside for them; `review` what
    was said of them last.
    """

    row: CampaignRow
    price: Decimal | None
    refusal: str | None
    earlier: Decimal
    review: Review | None = None

    @property
    def words(self) -> str | None:
        """What stands beside it for people: why not, what becomes of the take before, and what was
        said of that."""
        said = self.review.words if self.review else None
        return self.refusal or "; ".join(filter(None, (said, self.left_behind))) or None

    @property
    def left_behind(self) -> str | None:
        """What becomes of the take before it, where that is not over."""
        words = LEFT_BEHIND.get(self.row.state)
        return words and words.format(cancel=suggest("cancel", self.row.campaign, self.row.row))


async def offers(at: Context, campaign: Campaign, rows: Sequence[CampaignRow]) -> list[Offer]:
    """Ask the service what another take of each row costs; write nothing.

    Raises ConfigurationError or Parked when the service cannot be asked.
    """
    spent = await at.ledger.read(partial(figures_of, campaign_id=campaign.id))
    said = await at.ledger.read(partial(last_reviews, campaign_id=campaign.id))
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
    """Return the offers that are not refused as a plan, to be held against the budget."""
    lines = (
        PlanLine(
            row=offer.row.row,
            title=offer.row.title,
            action="remake",
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

    Raises SpendRefused when a row moved on, or the campaign was cancelled, since it was priced,
    and where the flow run has approved before.
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
    """Approve another take of every row at its price, in one transaction, or none of them.

    Raises MovedOn for a row that moved on or, without `even_kept`, is kept; SpendRefused where
    the campaign was cancelled, or the flow run of the id `run` has approved before.
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
        how = "is kept" if kept >= {row.id for row in late} else "moved on"
        raise MovedOn(f"{named} {how} meanwhile; nothing was approved or spent")
    if budget is not None:
        set_budget(connection, campaign, budget=budget, at=at)


def count_videos(number: int) -> str:
    """Say how many other takes are wanted."""
    return count(number, "more video")


# What a flow run has approved, so that it approves nothing more however often it begins anew.
#
# Prefect begins a run anew after a crash, a pause, or a moment that was waited for, and its count
# of that leaves out what was resumed. So the ledger notes with an approval which run it was.


ACT = "approve"


async def has_approved(ledger: Ledger, campaign: Campaign, *, run: str) -> bool:
    """Whether a flow run, by its id, has approved what it was started for."""
    query = partial(has_acted, act=ACT, by=_name(run), campaign=campaign.name)
    return await ledger.read(query)


async def begun_rows(ledger: Ledger, campaign: Campaign) -> list[str]:
    """Return the rows of a campaign that are approved or under way, in sheet order."""
    found = await ledger.read(partial(rows_of, campaign_id=campaign.id))
    return [row.row for row in found if row.state in UNDER_WAY | {"approved"}]


def approve_once(
    connection: Connection, campaign: Campaign, *, run: str, rows: int, words: str, at: float
) -> None:
    """Note that a flow run approves so many rows; raise SpendRefused where it has approved before.

    In the transaction of the approval, once it has the campaign: another process of the same run
    waits for its end.
    """
    by = _name(run)
    if has_acted(connection, act=ACT, by=by, campaign=campaign.name):
        raise SpendRefused(f"{by} has approved what it was started for; nothing more was spent")
    note_act(connection, at=at, by=by, act=ACT, campaign=campaign.name, rows=rows, words=words)


def _name(run: str) -> str:
    return f"flow run {run}"
