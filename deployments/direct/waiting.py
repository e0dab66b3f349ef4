"""Waits for a film by the same rules as a run: when to poll, and what is proof of a film."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime

from deployments.direct.session import Session
from tasks.duration import parse_duration, say_duration
from tasks.engine.policy.decision import CANCELLED, FAILED, SPREAD
from tasks.engine.policy.polling import ENDS, film_is_asked_for, poll_interval
from tasks.errors import Conflict, Parked
from tasks.service import Video

#: What to say of a video that waits for somebody.
SETTLED = {"draft": "it is a draft: `callsheet video generate` renders it"}


async def wait_for_film(at: Session, video_id: str) -> tuple[Video, bool]:
    """Return a video and whether its film is there, once that will not change by itself.

    Raises Parked when `--max-wait` (or the deadline of the settings) has passed.
    """
    longest = at.settings.deadline
    if at.args.max_wait is not None:
        longest = parse_duration(at.args.max_wait)
    began = time.monotonic()
    polls = ends = 0
    while True:
        video = await at.service.get(video_id)
        polls += 1
        if video.status == "draft":
            return video, False
        if film_is_asked_for(video.status, polls) and await _is_there(at, video_id):
            return video, True
        ends = ends + 1 if video.status in FAILED | CANCELLED else 0
        if ends == ENDS:
            return video, False
        await _pause(video, time.monotonic() - began, longest)


async def _is_there(at: Session, video_id: str) -> bool:
    try:
        await at.service.download(video_id)
    except Conflict:
        return False
    return True


async def _pause(video: Video, elapsed: float, longest: float) -> None:
    interval = poll_interval(elapsed, None, told=video.poll_after)
    wait = interval * random.uniform(1.0, SPREAD)
    left = longest - elapsed
    if left <= 0:
        raise Parked(
            f'{video.id} has no film after {say_duration(longest)}; it says "{video.status}"',
            until=datetime.fromtimestamp(time.time() + wait, UTC),
            remedy="run the same command again: waiting costs nothing",
        )
    await asyncio.sleep(min(wait, left))
