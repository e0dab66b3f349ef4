"""Waits for a film: looks as often as the service says, and believes a word only with proof.

The words for a finished render are not in the specification (section 3), so the proof that a
film is there is that its download is offered.
"""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime

from deployments.direct.session import Session
from tasks.duration import parse_duration, say_duration
from tasks.engine.policy.decision import CANCELLED, FAILED, RUNNING, SPREAD
from tasks.engine.policy.polling import next_poll
from tasks.errors import Conflict, Parked
from tasks.service import Video

#: What to say of a video that waits for somebody.
SETTLED = {"draft": "it is a draft: `callsheet video generate` renders it"}
#: A word for the end is believed after so many looks in a row without a film.
ENDS = 2
#: A render said to be under way is asked for its film at every so many looks.
EVERY = 5


async def wait_for_film(at: Session, video_id: str) -> tuple[Video, bool]:
    """Return a video and whether its film is there, once that will not change by itself.

    Raises Parked when `--max-wait` (or the deadline of the settings) has passed.
    """
    longest = at.settings.deadline
    if at.args.max_wait is not None:
        longest = parse_duration(at.args.max_wait)
    until = time.monotonic() + longest
    looks = ends = 0
    while True:
        video = await at.service.get(video_id)
        looks += 1
        if video.status == "draft":
            return video, False
        if (video.status not in RUNNING or looks % EVERY == 0) and await _is_there(at, video_id):
            return video, True
        ends = ends + 1 if video.status in FAILED | CANCELLED else 0
        if ends == ENDS:
            return video, False
        await _pause(video, until, longest)


async def _is_there(at: Session, video_id: str) -> bool:
    try:
        await at.service.download(video_id)
    except Conflict:
        return False
    return True


async def _pause(video: Video, until: float, longest: float) -> None:
    wait = next_poll(video.poll_after) * random.uniform(1.0, SPREAD)
    left = until - time.monotonic()
    if left <= 0:
        raise Parked(
            f'{video.id} has no film after {say_duration(longest)}; it says "{video.status}"',
            until=datetime.fromtimestamp(time.time() + wait, UTC),
            remedy="run the same command again: waiting costs nothing",
        )
    await asyncio.sleep(min(wait, left))
