"""The watch lane: is the film there yet? Reads only.

The words for a finished render are not in the specification, so the proof is a signed address:
it is asked for when the word is not one for a render under way, when a webhook named the video, at
every fifth look, and once the row is past its deadline.
"""

from __future__ import annotations

from tasks.engine.context import Connections
from tasks.engine.lanes.failures import news_of_read
from tasks.engine.policy.decision import RUNNING, Memory
from tasks.engine.policy.observations import FilmReady, Looked, Seen
from tasks.errors import Conflict, ServiceError
from tasks.ledger import CampaignRow

EVERY = 5


async def watch(row: CampaignRow, memory: Memory, at: Connections) -> Seen:
    """Look at a render once."""
    assert row.take is not None
    assert row.take.video_id is not None, "a rendering row has a video"
    accepted = row.take.accepted_at or at.clock()
    overdue = at.clock() - accepted > at.settings.deadline
    try:
        video = await at.service.get(row.take.video_id)
        running = video.status in RUNNING
        # What a render under way has cost so far is not what it will have cost.
        charged = None if running else video.charged
        if running and not overdue and not memory.hint and (memory.looks + 1) % EVERY:
            return Looked(video.status, video.poll_after, charged)
        try:
            signed = await at.service.download(row.take.video_id)
        except Conflict:
            return Looked(video.status, video.poll_after, charged, downloadable=False)
    except ServiceError as error:
        return news_of_read(error)
    return FilmReady(signed.url, charged)
