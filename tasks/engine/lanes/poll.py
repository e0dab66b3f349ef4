"""The poll lane: is the film there yet? Reads only.

The status is asked first. The words for a finished render are not in the specification, so the
proof is a signed address: it is asked for next when the word is not one for a render under way,
when a webhook named the video, at every fifth poll, and once the row is past its deadline.
"""

from __future__ import annotations

from tasks.engine.context import Context
from tasks.engine.lanes.failures import observation_of
from tasks.engine.policy.decision import RUNNING, Memory
from tasks.engine.policy.observations import FilmReady, Observation, Polled
from tasks.engine.policy.polling import film_is_asked_for
from tasks.errors import Conflict, ServiceError
from tasks.ledger import CampaignRow


async def poll(row: CampaignRow, memory: Memory, at: Context) -> Observation:
    """Poll a render once."""
    assert row.take is not None
    assert row.take.video_id is not None, "a rendering row has a video"
    accepted = row.take.accepted_at or at.clock()
    overdue = at.clock() - accepted > at.settings.deadline
    try:
        video = await at.service.get(row.take.video_id)
        # What a render under way has cost so far is not what it will have cost.
        charged = None if video.status in RUNNING else video.charged
        urgent = overdue or memory.hint > 0
        if not film_is_asked_for(video.status, memory.polls + 1, urgent=urgent):
            return Polled(video.status, video.poll_after, charged)
        try:
            signed = await at.service.download(row.take.video_id)
        except Conflict:
            return Polled(video.status, video.poll_after, charged, downloadable=False)
    except ServiceError as error:
        return observation_of(error)
    return FilmReady(signed.url, charged)
