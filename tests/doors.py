"""Doors for runs that a test opens itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from callsheet.tasks.campaign.run import Door, Run
from callsheet.tasks.campaign.values import Plan


class Approving(Door):
    """Approves every plan, in words; `meanwhile` is called first, with the run."""

    def __init__(
        self,
        by: str = "approved by a test",
        *,
        meanwhile: Callable[[Run], Awaitable[Any]] | None = None,
        find_starter: Any = None,
    ) -> None:
        self._by = by
        self._meanwhile = meanwhile
        self.find_starter = find_starter

    async def approve(self, run: Run, plan: Plan) -> Plan:
        if self._meanwhile is not None:
            await self._meanwhile(run)
        return plan.approved(self._by)


def delay_approval(run: Run, until: Callable[[], Awaitable[Any]]) -> None:
    """Have something happen between the approval of a run's plan and its being written."""
    approve = run.door.approve

    async def late(run: Run, plan: Plan) -> Plan:
        approved = await approve(run, plan)
        await until()
        return approved

    run.door.approve = late  # type: ignore[method-assign]
