"""Evidence that a paid call with a lost answer was executed.

And the record of calls sent by hand.

A call that makes a video is known by a single new one that shows our own words: what is in the
service's list before it has to be told from what is new after it, and since the organisation is
shared, a new video alone proves nothing. A call that changes a video is known by the change.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

from callsheet.tasks.engine.policy.decision import RUNNING, SKEW
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.service_state import (
    NEW,
    CallOutcome,
    calls_about,
    close_call,
    note_videos,
    open_call,
    unsettled_calls,
    videos_known,
)
from callsheet.tasks.ledger.values import Take
from callsheet.tasks.runtime.errors import (
    CallsheetError,
    Conflict,
    NotFound,
    NotSent,
    RateLimited,
    Refused,
    RunStopped,
    ServiceError,
    SpendRefused,
)
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.service import Video, VideoService
from callsheet.tasks.values.amounts import parse_credits
from callsheet.tasks.values.briefs import Json, canonical_json

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
        await self._ledger.write(
            note_videos, organisation=self.organisation, video_ids=fresh, at=at
        )
        known.update(fresh)
        self._known = known

    async def since(self, moment: float) -> list[Video]:
        """Return what is listed now and was neither there at `moment` nor is ours."""
        known = await self._recall(before=moment)
        return [video async for video in self._service.list_videos() if video.id not in known]

    async def _recall(self, *, before: float) -> set[str]:
        return await self._ledger.read(videos_known, organisation=self.organisation, before=before)


#: Members that many requests share, so that they prove nothing.
COMMON = frozenset({"duration_seconds", "aspect_ratio", "language", "voice_id", "character_id"})


async def made_by(
    baseline: Baseline, asked: Mapping[str, Json], moment: float
) -> tuple[Video | None, tuple[str, ...]]:
    """Return the one video that a call sent at `moment` (Unix seconds) made, if it is certain.

    Else None, with the ids of those of which one may be it. Raises ServiceError.
    """
    fresh = [video for video in await baseline.since(moment) if not _older(video, moment)]
    matches = [video for video in fresh if shows(video.raw, asked)]
    if len(matches) == 1:
        return matches[0], ()
    return None, tuple(video.id for video in matches or fresh)


@dataclass(frozen=True, kw_only=True)
class Before:
    """A video before a paid call changes it: its status, a digest of its exports, its charge.

    `renders` is None where exports cannot be read; `charged` is in credits.
    """

    status: str | None
    renders: str | None
    has_video: bool
    charged: str | None = None

    @classmethod
    def read(cls, text: str) -> Before:
        """Read what `as_text` wrote."""
        return cls(**json.loads(text))

    def as_text(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))

    @property
    def running(self) -> bool:
        """Whether a render is under way."""
        return self.status in RUNNING

    def changed_to(self, now: Before) -> bool:
        """Whether a render has begun since: its status, its video or its exports show it."""
        begun = now.status != self.status or now.has_video < self.has_video
        return begun or (None not in (now.renders, self.renders) and now.renders != self.renders)

    def cost_since(self, charged: Decimal | None) -> Decimal | None:
        """Return what was charged since; None where either amount is not known."""
        before = parse_credits(self.charged)
        return None if charged is None or before is None else max(charged - before, Decimal(0))


async def before(service: VideoService, video_id: str) -> Before:
    """Look at a video; raise ServiceError when that fails."""
    video = await service.get(video_id)
    renders = None
    with suppress(ServiceError):
        listed = await service.renders(video_id)
        renders = hashlib.sha256(canonical_json(listed)).hexdigest()
    has_video = True
    try:
        await service.download(video_id)
    except Conflict:
        has_video = False
    charged = None if video.charged is None else str(video.charged)
    return Before(status=video.status, renders=renders, has_video=has_video, charged=charged)


async def was_changed(service: VideoService, video_id: str, earlier: Before) -> bool:
    """Whether a video shows that a render was begun since `earlier`; raise ServiceError."""
    return earlier.changed_to(await before(service, video_id))


async def before_edit(ledger: Ledger, take: Take) -> Before | None:
    """Return how the video was before the edit that a take is; None for any other take."""
    for call in await ledger.read(calls_about, take_ids=[take.id]):
        if call.before is not None:
            return Before.read(call.before)
    return None


async def find_edit(ledger: Ledger, service: VideoService, take: Take) -> str | None:
    """Return the video of an edit whose answer was lost, if it shows that it was rendered again.

    None also for a video that is gone. Raises ServiceError when it cannot be looked at.
    """
    for call in await ledger.read(calls_about, take_ids=[take.id]):
        with suppress(NotFound):
            if call.before and await was_changed(service, call.target, Before.read(call.before)):
                return call.target
    return None


def created_at(raw: Json) -> float | None:
    """Return when the service says that a video was created, in Unix seconds, if it says so."""
    said = raw.get("created_at") if isinstance(raw, dict) else None
    try:
        created = datetime.fromisoformat(said) if isinstance(said, str) else None
    except ValueError:
        return None
    if created is None:
        return None
    return (created if created.tzinfo else created.replace(tzinfo=UTC)).timestamp()


def _older(video: Video, moment: float) -> bool:
    """Whether the service says that a video was there before the call; if it says anything."""
    created = created_at(video.raw)
    return created is not None and created < moment - SKEW


def shows(raw: Json, asked: Mapping[str, Json]) -> bool:
    """Whether a record repeats what was asked: all that it shows of it, and not only the common."""
    if not isinstance(raw, dict):
        return False
    shown = {name: value for name, value in asked.items() if name in raw}
    return shown.keys() - COMMON != set() and all(raw[name] == shown[name] for name in shown)


# The ledger's record of a paid call without a key that a person sends by hand.
#
# The intent is committed before the call leaves and closed with what became of it, so that what
# was paid for is in the ledger, and no one sends a second one while the first is not settled.


@dataclass
class Entry:
    """One call in the ledger; `video_id` is set to the video that it made or changed."""

    number: int
    video_id: str | None = None


@asynccontextmanager
async def journaled(
    ledger: Ledger,
    *,
    organisation: str,
    operation: str,
    body: bytes,
    clock: UnixClock,
    target: str = NEW,
) -> AsyncIterator[Entry]:
    """Record a call around its sending; `target` is the video it changes.

    Raises SpendRefused, and nothing may be sent, while another call for the same target is open
    or its outcome unknown.
    """
    number = await _open(ledger, organisation, operation, body, target, clock())
    entry = Entry(number)
    outcome: CallOutcome = "unknown"
    try:
        yield entry
        outcome = "made"
    except (NotSent, Refused, RateLimited):
        outcome = "refused"
        raise
    finally:
        close = partial(
            close_call, call_id=number, outcome=outcome, at=clock(), video_id=entry.video_id
        )
        # Also when the command is being stopped: an open call would block the next one.
        try:
            await asyncio.shield(ledger.write(close))
        except CallsheetError as error:
            if outcome == "refused":
                raise
            # The request left: whatever keeps the ledger from noting it, it may be charged.
            stopped = RunStopped.by(error)
            words = f"the {operation} call was sent and may be charged (call {number})"
            raise stopped.saying(words, spent=None) from error


async def _open(
    ledger: Ledger, organisation: str, operation: str, body: bytes, target: str, now: float
) -> int:
    found = await ledger.read(unsettled_calls, organisation=organisation)
    same = [call for call in found if call.target == target and (target or not call.closed_at)]
    number = None
    if not same:
        number = await ledger.write(
            open_call,
            organisation=organisation,
            operation=operation,
            body=body,
            target=target,
            at=now,
        )
    if number is None:
        named = ", ".join(str(call) for call in same) or "another process"
        known = str(same[0]) if same else "N"
        raise SpendRefused(
            f"a paid call before this one is not settled: {named}; nothing was spent",
            remedy="look at what it made, then settle it: "
            f"`{suggest('resolve', '--call', known, '--adopt', 'ID')}` or "
            f"`{suggest('resolve', '--call', known, '--abandon')}`",
        )
    return number
