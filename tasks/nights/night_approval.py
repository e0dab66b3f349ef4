"""Standing approval: what a night may spend without asking, counted where it is approved.

The limits are held in the transaction that approves the rows, over every process and every sweep
of the night; what is said here beforehand only says it sooner, and better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import Connection

from callsheet.tasks.campaign.plan import check_retirement
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.credits import in_credits
from callsheet.tasks.errors import SpendRefused
from callsheet.tasks.ledger import PricedRow
from callsheet.tasks.ledger.nights import KeptNight, approve_in_night
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.plural import count


@dataclass(frozen=True, kw_only=True)
class NightApproval:
    """The word that an inbox has given beforehand on one of its sheets, in one night.

    `tolerance` is how far a price may rise after its approval, as a part of it: that counts, too.
    """

    inbox: Inbox
    night: KeptNight
    #: When the night began: a ledger that was restored since does not know what it approved.
    since: float
    place: str
    sheet: str
    #: The command by which a person runs the sheet, and is asked.
    again: str
    tolerance: Decimal

    async def approve(self, plan: Plan) -> str:
        """Say by whose word a plan is approved; raise SpendRefused where that is not given."""
        check_retirement(plan, f"{self.again} --retire")
        if self.inbox.approval == "plan-only":
            rows = count(len(plan.spending), "row")
            raise SpendRefused(
                f"the plan waits for approval: {in_credits(plan.total)} for {rows}; nothing was "
                "spent",
                remedy=f"look at it and approve it:\n  {self.again}",
            )
        if plan.elsewhere:
            # A question that a person is asked, and that nobody has answered beforehand.
            named = " and ".join(one.campaign for one in plan.elsewhere)
            paid = sum(len(one.costs) for one in plan.elsewhere)
            raise SpendRefused(
                f"{count(paid, 'row')} of it {'was' if paid == 1 else 'were'} paid for already, in "
                f"{named}; nothing was spent",
                remedy=f"look at the plan and approve it:\n  {self.again}",
            )
        if plan.unpriced:
            raise SpendRefused(
                f"{count(plan.unpriced, 'row has', 'rows have')} no readable price, which no "
                "standing approval covers; nothing was spent",
                remedy=f"look at the plan and approve it:\n  {self.again}",
            )
        return f"approved by the standing approval of inbox {self.inbox.name}, {self.night.date}"

    def count(self, connection: Connection, rows: Sequence[PricedRow]) -> None:
        """Count what is approved, with the approval or not at all; SpendRefused beyond a limit."""
        assert self.inbox.per_night is not None, "an inbox that spends has a limit"
        if any(row.quoted is None for row in rows):
            raise SpendRefused("a price is not readable any more; nothing was spent")
        total = sum((row.quoted or Decimal(0) for row in rows), Decimal(0))
        try:
            approve_in_night(
                connection,
                self.night.id,
                since=self.since,
                place=self.place,
                sheet=self.sheet,
                credits=total * (1 + self.tolerance),
                per_night=self.inbox.per_night,
                per_sheet=self.inbox.per_sheet,
            )
        except SpendRefused as refusal:
            refusal.remedy = f"look at the plan and approve it:\n  {self.again}"
            raise
