"""Cancels rows as a Prefect flow, including videos that are rendering, and releases their credits.

The same steps as `callsheet cancel`. The flow does not ask: starting it is the confirmation.
"""

from __future__ import annotations

import time
from typing import Any

from prefect import get_run_logger
from prefect.client.schemas.objects import State

from callsheet.flows.endings import callsheet_flow, ending
from callsheet.flows.flow_runs import set_up_flow
from callsheet.flows.shown.artifacts import LINES, put_table
from callsheet.flows.shown.flow_page import PAGE
from callsheet.tasks.aftercare.cancel import cancel, exit_status, finish, released, say_states
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.runtime.process import user_name
from callsheet.tasks.values.amounts import as_number


@callsheet_flow(
    "cancel",
    "Rows that are not made yet are cancelled; reserved credits are released.",
    "cancel {campaign}",
)
async def cancel_campaign(
    campaign: str, select: str | None = None, profile: str | None = None
) -> State[dict[str, Any]]:
    """Cancel a campaign or some of its rows, including videos that are rendering.

    Args:
        campaign: whose rows.
        select: only these rows, as `tag:launch,language:en|de`.
        profile: settings from a TOML profile.
    """
    settings, ask = set_up_flow(profile), RunOptions(campaign=campaign, select=select)
    async with await open_ledger(settings.ledger, create=False) as ledger:
        plan = await ledger.write(cancel, ask=ask, by=user_name(), at=time.time())
        found = await finish(ledger, settings, plan)
    touched = [one for one in found if one.was != one.now or one.released]
    columns = ("row", "was", "is", "released", "why")
    cells = ((e.row, e.was, e.now, as_number(e.released), e.why) for e in touched[:LINES])
    lines = [dict(zip(columns, line, strict=True)) for line in cells]
    await put_table(PAGE, "callsheet-cancelled", lines, words=f"Cancelled in {plan.campaign}")
    words, status = say_states((one.now for one in touched), released(found)), exit_status(found)
    get_run_logger().info(words)
    freed = as_number(released(found))
    return ending(status, words, {"campaign": plan.campaign, "released": freed, "exit": status})
