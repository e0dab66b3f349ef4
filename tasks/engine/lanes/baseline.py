"""What is in the service's list before a paid call without a key, and what is new after it.

A lost answer can be made good only by telling what the call made from what was there already.
"""

from __future__ import annotations

from functools import partial

from tasks.errors import NotFound
from tasks.ledger import Ledger, note_videos, videos_known
from tasks.service import Video, VideoService

#: Known videos in a row after which a list, once read whole, is taken to hold no more new ones.
STREAK = 100


class Baseline:
    """The videos of one organisation, as the ledger remembers them."""

    def __init__(self, ledger: Ledger, service: VideoService, organisation: str) -> None:
        self.organisation = organisation
        self._ledger = ledger
        self._service = service
        self._known: set[str] | None = None

    async def refresh(self, *, at: float) -> None:
        """Commit every listed video that is not known yet; raise ServiceError when that fails.

        The first time the list is read to its end, later until it holds nothing new.
        """
        whole = self._known is None
        known = self._known if self._known is not None else await self._recall(before=at)
        fresh: list[str] = []
        streak = 0
        try:
            async for video in self._service.list_videos():
                streak = streak + 1 if video.id in known else 0
                if not streak:
                    fresh.append(video.id)
                elif streak >= STREAK and not whole:
                    break
        except NotFound:
            # A service without a list: nothing can be told apart, so a lost answer asks a person.
            pass
        note = partial(note_videos, organisation=self.organisation, video_ids=fresh, at=at)
        await self._ledger.write(note)
        self._known = known | set(fresh)

    async def since(self, moment: float) -> list[Video]:
        """Return what is listed now and was neither there at `moment` nor is ours."""
        known = await self._recall(before=moment)
        return [video async for video in self._service.list_videos() if video.id not in known]

    async def _recall(self, *, before: float) -> set[str]:
        query = partial(videos_known, organisation=self.organisation, before=before)
        return await self._ledger.read(query)
