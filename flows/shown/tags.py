"""By which tags a flow run is found: its campaign's name, and the tags of the sheet's rows."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from uuid import UUID

from prefect import tags
from prefect.client.orchestration import get_client
from prefect.runtime import flow_run

from callsheet.flows.shown.artifacts import out_of_the_way
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.ledger import tags_of

#: What every flow run of ours bears, as its deployment says: automations go by it.
OURS = "callsheet"
#: Tags of a sheet that a flow run bears, at most: those of most rows.
MOST = 20


def ours() -> AbstractContextManager[object]:
    """Have flow runs that begin meanwhile bear the tag of ours, without a deployment."""
    return tags(OURS)


@out_of_the_way
async def tag_run(run: Run) -> None:
    """Add a run's tags to those that its flow run has."""
    assert run.campaign is not None
    found = await run.at.ledger.read(partial(tags_of, campaign_id=run.campaign.id))
    often = sorted(found, key=lambda tag: (-found[tag], tag))[:MOST]
    number = UUID(flow_run.id)
    async with get_client() as client:
        # A night's flow run has the tags of other campaigns by now.
        there = (await client.read_flow_run(number)).tags
        tags = dict.fromkeys((*there, run.campaign.name, *often))
        await client.update_flow_run(number, tags=list(tags))
