"""The poll lane: is the video there yet? Reads only.

The words for a finished render are not in the specification, so the proof is a signed address. It
is asked for at once when a webhook named the video; else the status is asked first, and the video
when the word is not one for a render under way, at every fifth poll, and past the deadline.
"""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.lanes.failures import observation_of
from callsheet.tasks.engine.policy.decision import RUNNING, Memory
from callsheet.tasks.engine.policy.observations import Observation, Polled, VideoReady
from callsheet.tasks.engine.policy.polling import video_is_asked_for
from callsheet.tasks.errors import Conflict, ServiceError
from callsheet.tasks.ledger import CampaignRow
from callsheet.tasks.service import Video


async def poll(row: CampaignRow, memory: Memory, at: Context) -> Observation:
    """Poll a render once."""
    assert row.take is not None
    assert row.take.video_id is not None, "a rendering row has a video"
    video_id, accepted = row.take.video_id, row.take.accepted_at or at.clock()
    try:
        if memory.hint:
            return await _video_first(video_id, at)
        video = await at.service.get(video_id)
        overdue = at.clock() - accepted > at.settings.deadline
        if not video_is_asked_for(video.status, memory.polls + 1, overdue=overdue):
            return Polled(video.status, video.poll_after, _charged(video))
        try:
            signed = await at.service.download(video_id)
        except Conflict:
            return _without_video(video)
        return VideoReady(signed.url, _charged(video))
    except ServiceError as error:
        return observation_of(error, at.clock())


async def _video_first(video_id: str, at: Context) -> Observation:
    """Ask for the video that a webhook told of; then the status tells what it charged, or why not.

    Without a status the charge is what was set aside.
    """
    try:
        signed = await at.service.download(video_id)
    except Conflict:
        return _without_video(await at.service.get(video_id))
    charged = None
    with suppress(ServiceError):
        charged = _charged(await at.service.get(video_id))
    return VideoReady(signed.url, charged)


def _without_video(video: Video) -> Polled:
    return Polled(video.status, video.poll_after, _charged(video), downloadable=False)


def _charged(video: Video) -> Decimal | None:
    """Return the charge: what a render under way has cost so far is not what it will have cost."""
    return None if video.status in RUNNING else video.charged
