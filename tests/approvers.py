"""Approvers for runs that a test opens itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from callsheet.tasks.campaign.approver import Approver
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.values import Plan


class Approving(Approver):
    """Approves every plan, in words; `meanwhile` is called first."""

    def __init__(
        self,
        by: str = "approved by a test",
        *,
        meanwhile: Callable[[], Awaitable[Any]] | None = None,
        later: bool = False,
    ) -> None:
        self._by = by
        self._meanwhile = meanwhile
        self.approves_later = later

    async def approve(self, plan: Plan) -> Plan:
        if self._meanwhile is not None:
            await self._meanwhile()
        return plan.approved(self._by)


def delay_approval(run: Run, until: Callable[[], Awaitable[Any]]) -> None:
    """Have something happen between the approval of a run's plan and its being written."""
    approve = run.approver.approve

    async def late(plan: Plan) -> Plan:
        approved = await approve(plan)
        await until()
        return approved

    run.approver.approve = late  # type: ignore[method-assign]
