"""Who is asked about a run of a sheet: what it may pay for, and what the sheet means.

An approver only answers: what is approved is written by `approve`, in one transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from callsheet.tasks.campaign.approve import Check
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.runtime.errors import NotApproved

#: Is shown a plan with its prices; returns it as approved. Raises SpendRefused for a no.
ApprovePlan = Callable[[Plan], Awaitable[Plan]]


class Approver:
    """Approves nothing, wants no hidden rows, and lets no known sheet be read in another way."""

    #: Whether who approves sees and approves the price of the rows that wait for first videos, too.
    approves_later = False
    #: Take part in the transaction that approves a plan; raise SpendRefused to undo all of it.
    limits: Sequence[Check] = ()

    async def wants_hidden(self, rows: Sequence[str]) -> bool | None:
        """Return whether rows that the workbook hides are wanted, by id; None if no one says."""
        return None

    async def accepts_reading(self, words: str) -> bool:
        """Return whether a known sheet may be read in another way than before, which is told."""
        return False

    async def see(self, plan: Plan) -> Plan:
        """Return the plan, or one with another budget, before it is checked against its budget.

        It is called for every plan, also for one that needs no approval.
        """
        return plan

    async def approve(self, plan: Plan) -> Plan:
        """Return the plan as someone approved it: `plan.approved(by)`."""
        return await approve_nothing(plan)


async def approve_nothing(plan: Plan) -> Plan:
    """Approve no plan: what is paid for was approved before."""
    raise NotApproved(f"the plan of {plan.campaign} is not approved; nothing was spent")
