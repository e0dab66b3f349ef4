"""The service's own list of videos: which rows that this ledger has not paid for are in it.

A key of ours in the list is certain at any age. Where the service shows no keys, a video that shows
what a row asks for is evidence that a person decides on. Absence from the list proves nothing.
Reads only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from callsheet.tasks.brief import CREATE, Json
from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.lanes.evidence import created_at, shows
from callsheet.tasks.engine.policy.decision import FAILED, SKEW
from callsheet.tasks.errors import CallsheetError, NotFound
from callsheet.tasks.key import idempotency_key
from callsheet.tasks.ledger import Campaign, pages_of, rows_of, tracked_videos
from callsheet.tasks.ledger.earlier import UnpaidRow
from callsheet.tasks.service import Video

#: How many attempts beyond a row's own are looked for: retakes that another ledger paid for.
AHEAD = 2
#: A video that was never finished is nothing to bring home.
_ENDED = FAILED | {"cancelled", "canceled", "deleted"}


@dataclass(frozen=True, kw_only=True)
class Made:
    """A video that the service lists under a key of ours: a row's `nth` attempt at its brief."""

    row: UnpaidRow
    nth: int
    key: str
    video: Video


@dataclass(frozen=True, kw_only=True)
class Alike:
    """A listed video without a key that shows what a row asks for; `created` in Unix seconds."""

    row: UnpaidRow
    video_id: str
    created: float | None


@dataclass(kw_only=True)
class ServiceList:
    """What the list says of rows, by row id; `unread` says why it could not be read, if so."""

    made: dict[str, Made] = field(default_factory=dict)
    alike: dict[str, Alike] = field(default_factory=dict)
    unread: str | None = None


async def find_listed(at: Context, campaign: Campaign, wanted: Sequence[UnpaidRow]) -> ServiceList:
    """Read the service's list once, and return what it says of these rows.

    In memory are the videos that may be one of theirs, and no others.
    """
    found = ServiceList()
    keys: dict[str, tuple[UnpaidRow, int]] = {}
    keyless: list[Video] = []
    try:
        async for video in at.service.list_videos():
            if not keys:
                # Only once there is a video at all: many rows have many keys.
                keys = _keys(campaign.name, wanted)
            key = _key_of(video)
            if not key:
                keyless.append(video)
            elif key in keys:
                _note(found.made, video, key, *keys[key])
    except NotFound:
        found.unread = "the service has no list of videos"
    except CallsheetError as error:
        found.unread = f"the service's list of videos could not be read ({error})"
    if keyless:
        rest = [row for row in wanted if row.row not in found.made]
        found.alike = await _alike(at, campaign, rest, keyless)
    return found


def _keys(campaign: str, wanted: Iterable[UnpaidRow]) -> dict[str, tuple[UnpaidRow, int]]:
    """Return the keys of the attempts at each row's brief that come now, with row and attempt."""
    return {
        idempotency_key(
            campaign=campaign, row=row.row, operation=row.operation, digest=row.digest, nth=nth
        ): (row, nth)
        for row in wanted
        for nth in range(row.nth, row.nth + AHEAD + 1)
    }


def _note(made: dict[str, Made], video: Video, key: str, row: UnpaidRow, nth: int) -> None:
    """Keep the latest attempt at a row that has come to something."""
    known = made.get(row.row)
    if video.status not in _ENDED and (known is None or known.nth < nth):
        made[row.row] = Made(row=row, nth=nth, key=key, video=video)


def _key_of(video: Video) -> str | None:
    """Return the key that a record shows: an empty one where it shows that there is none."""
    raw = video.raw if isinstance(video.raw, dict) else {}
    return str(raw["idempotency_key"] or "") if "idempotency_key" in raw else None


async def _alike(
    at: Context, campaign: Campaign, wanted: Sequence[UnpaidRow], keyless: Sequence[Video]
) -> dict[str, Alike]:
    """Return for each row a video of no take of this ledger that shows what the row asks for."""
    ours = {
        one.video_id
        for page in pages_of(keyless)
        for one in await at.ledger.read(partial(tracked_videos, videos=[v.id for v in page]))
    }
    by_title: dict[str | None, list[Video]] = defaultdict(list)
    for video in keyless:
        if video.id not in ours and video.status not in _ENDED:
            by_title[_title(video.raw)].append(video)
    found: dict[str, Alike] = {}
    if not by_title:
        return found
    for page in pages_of(wanted):
        of_row = {row.row: row for row in page}
        query = partial(rows_of, campaign_id=campaign.id, named=list(of_row))
        for row in await at.ledger.read(query):
            asked = row.asked()
            for video in _with_title(by_title, asked):
                if _key_of(video) == "" and row.operation == CREATE:
                    # The service shows keys, and this video was made without one.
                    continue
                created = created_at(video.raw)
                if shows(video.raw, asked) and not _is_young(at, row.operation, created):
                    found[row.row] = Alike(row=of_row[row.row], video_id=video.id, created=created)
                    break
    return found


def _is_young(at: Context, operation: str, created: float | None) -> bool:
    """Whether the service still knows the key that made a video: then sending it again is safe."""
    if operation != CREATE or created is None:
        return False
    return -SKEW <= at.clock() - created < at.settings.horizon


def _with_title(
    by_title: Mapping[str | None, Sequence[Video]], asked: Mapping[str, Json]
) -> list[Video]:
    title = _title(asked)
    if title is None:
        return [video for some in by_title.values() for video in some]
    return [*by_title.get(title, ()), *by_title.get(None, ())]


def _title(record: Json | Mapping[str, Json]) -> str | None:
    title = record.get("title") if isinstance(record, Mapping) else None
    return title if isinstance(title, str) else None
