"""What changed outside since delivery: looked for when a person asks, and repaired at no charge."""

from __future__ import annotations

from functools import partial
from typing import Literal

from pydantic import BaseModel

from callsheet.deployments.at import At
from callsheet.tasks.aftercare.findings import DRIFT, Repairs
from callsheet.tasks.aftercare.repairs import plan_repairs, repair
from callsheet.tasks.engine.context import connect
from callsheet.tasks.ledger.audit_log import note_act

Amount = int | float


class DriftLine(BaseModel):
    """One thing that changed outside since delivery; `cost` of the remedy is null if not known.

    `row` is null for a file of the whole campaign, `repaired` what a repair did.
    """

    row: str | None
    where: Literal["service", "store"]
    what: str
    remedy: str | None
    cost: Amount | None
    repaired: str | None


class DriftFound(BaseModel):
    """Everything that changed outside."""

    drift: list[DriftLine]


async def get_drift(at: At, campaign: str) -> DriftFound:
    """Compare the delivered videos of a campaign with the service and the store."""
    return _drift(await see_drift(at, campaign))


async def repair_campaign(at: At, campaign: str) -> DriftFound:
    """Repair what changed at the service or in the store, where that is free."""
    return _drift(await repair_drift(at, campaign))


def _drift(found: Repairs) -> DriftFound:
    return DriftFound(drift=[DriftLine(**one.as_json(DRIFT)) for one in found.drift])


async def see_drift(at: At, campaign: str) -> Repairs:
    """Compare a campaign with service and store; raises ProblemDetails (404) for an unknown one.

    Reads only. Raises Parked or ConfigurationError when the service cannot be asked.
    """
    known = await at.campaign(campaign)
    plan = partial(plan_repairs, at.ledger, at.settings, known, files=True)
    async with at.service() as service:
        return await plan(service=service, clock=at.clock)


async def repair_drift(at: At, campaign: str) -> Repairs:
    """Fix what changed where that is free; return what was found, and what was done about it."""
    found = await see_drift(at, campaign)
    note = partial(note_act, act="repair", by=at.by, at=at.clock(), campaign=campaign)
    await at.write(note, rows=len({one.owner[1] for one in found.drift if one.row}))
    async with connect(at.settings, clock=at.clock) as context:
        return await repair(found, context)
