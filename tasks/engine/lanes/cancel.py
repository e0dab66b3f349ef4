"""The cancel lane: ask the service to stop a render that somebody no longer wants.

It costs nothing and may be asked again: the second answer is 409.
"""

from __future__ import annotations

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.lanes.failures import observation_of
from callsheet.tasks.engine.policy.observations import NotCancelled, Observation, Released, Troubled
from callsheet.tasks.errors import ServiceError
from callsheet.tasks.ledger import CampaignRow


async def cancel(row: CampaignRow, at: Context) -> Observation:
    """Cancel a row's render; on 200 its reserved credits are released (specification, section 1).

    409 says that no render is running: the video may be there.
    """
    assert row.take is not None
    assert row.take.video_id is not None, "a rendering row has a video"
    try:
        video = await at.service.cancel(row.take.video_id)
    except ServiceError as error:
        observation = observation_of(error, at.clock())
        # Without a clear answer, too: a poll tells what became of it.
        return NotCancelled(str(error)) if isinstance(observation, Troubled) else observation
    return Released(video.charged if video else None)
