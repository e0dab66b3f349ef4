"""The service's own list of videos: which rows that this ledger has not paid for are in it.

A key of ours in the list is certain at any age. A video that may be a row's, and was made under
another key of ours or under one that is not shown, is evidence that a person decides on: a row that
was edited or renamed has another key today, under which nothing was sent. Absence from the list
proves nothing. Reads only.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial

from callsheet.tasks.campaign.match import TELLING
from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.evidence import COMMON, created_at, shows
from callsheet.tasks.engine.policy.decision import FAILED, RUNNING, SKEW
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.earlier_takes import EarlierTake, UnpaidRow, taken_keys
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.values import CampaignRow, Take, last_made, rows_of, takes_of
from callsheet.tasks.ledger.webhook_events import tracked_videos
from callsheet.tasks.runtime.errors import CallsheetError, NotFound
from callsheet.tasks.service import Video, VideoService
from callsheet.tasks.values.amounts import as_text, in_credits
from callsheet.tasks.values.briefs import CREATE, RECIPE, Json, canonical_json, idempotency_key
from callsheet.tasks.values.edits import edit_between, edit_of, made_by

#: How many attempts beyond a row's own are looked for: retakes that another ledger paid for.
AHEAD = 2
#: A video that was never finished is nothing to bring home.
ENDED = FAILED | {"cancelled", "canceled", "deleted"}
#: What an edit changes, and the service may show as it was.
_EDITED = frozenset({"voice_id", "caption_style"})
#: Members that many rows share, besides those: a video with the same ones may be any row's.
_SHARED = COMMON | _EDITED | {"tool"}
#: Members that tell a video from others, besides its title.
_CONTENTS = ("fields", *(name for name in TELLING if name != "title"))


@dataclass(frozen=True, kw_only=True)
class Made:
    """A video that the service lists under a key of ours: a row's `nth` attempt at its brief."""

    row: UnpaidRow
    nth: int
    key: str
    video: Video


@dataclass(kw_only=True)
class ServiceList:
    """What the list says of rows, by row id; `unread` says why it could not be read, if so."""

    made: dict[str, Made] = field(default_factory=dict)
    #: Rows that may be paid for: a video may be theirs, or may have had the edit that they ask for.
    doubts: dict[str, EarlierTake] = field(default_factory=dict)
    #: Other videos, those that the reader asked to keep.
    kept: list[Video] = field(default_factory=list)
    unread: str | None = None


async def find_listed(
    at: Context,
    campaign: Campaign,
    wanted: Sequence[UnpaidRow],
    *,
    unpaid: Sequence[UnpaidRow],
    sent: Collection[str] = (),
    new: bool = False,
) -> ServiceList:
    """Read the service's list once, and return what it says of the wanted rows.

    A video under a key of any of the `unpaid` rows is that row's. Of a row in `sent` the request
    went out under today's key, which the service still knows for a while. In memory are the videos
    that may be one of theirs, and no others.
    """
    traits = await _traits(at, campaign, wanted)
    edits = await _edits(at, campaign, wanted)

    def keep(one: Video) -> bool:
        if (edit := edits.get(one.id)) and (words := edit.seen_in(one)):
            edited[edit.row.row] = _in_doubt(edit.row, one, words)
        return _is_open(one, new=new) and traits.fit(one.raw)

    edited: dict[str, EarlierTake] = {}
    found = await read_list(at.service, campaign.name, unpaid, keep=keep)
    found.doubts = edited
    names = {row.row for row in wanted}
    found.made = {name: one for name, one in found.made.items() if name in names}
    if found.kept:
        rest = [row for row in wanted if row.row not in found.made]
        found.doubts = edited | await _alike(at, campaign, rest, found.kept, sent)
    return found


def _in_doubt(row: UnpaidRow, video: Video, why: str) -> EarlierTake:
    """Return what shows that a row may be paid for."""
    return EarlierTake(
        row=row.row,
        digest=row.digest,
        nth=row.nth,
        sent_at=created_at(video.raw),
        video_id=video.id,
        why=why,
    )


async def read_list(
    service: VideoService,
    campaign: str,
    wanted: Sequence[UnpaidRow],
    *,
    keep: Callable[[Video], bool],
) -> ServiceList:
    """Read the service's list once: videos under keys of these rows, and others to `keep`."""
    found = ServiceList()
    keys: dict[str, tuple[UnpaidRow, int]] = {}
    try:
        async for video in service.list_videos():
            if not keys:
                # Only once there is a video at all: many rows have many keys.
                keys = _keys(campaign, wanted)
            key = key_of(video)
            if key in keys:
                _note(found.made, video, key, *keys[key])
            elif keep(video):
                found.kept.append(video)
    except NotFound:
        found.unread = "the service has no list of videos"
    except CallsheetError as error:
        found.unread = f"the service's list of videos could not be read ({error})"
    return found


def _keys(campaign: str, wanted: Iterable[UnpaidRow]) -> dict[str, tuple[UnpaidRow, int]]:
    """Return the keys of the attempts at each row's brief that come now, with row and attempt."""
    return {
        idempotency_key(
            campaign=campaign,
            row=row.first_id or row.row,
            operation=made_by(row.operation),
            digest=row.digest,
            nth=nth,
        ): (row, nth)
        for row in wanted
        for nth in range(row.nth, row.nth + AHEAD + 1)
    }


def _note(made: dict[str, Made], video: Video, key: str, row: UnpaidRow, nth: int) -> None:
    """Keep the latest attempt at a row that has come to something."""
    known = made.get(row.row)
    if video.status not in ENDED and (known is None or known.nth < nth):
        made[row.row] = Made(row=row, nth=nth, key=key, video=video)


def key_of(video: Video) -> str | None:
    """Return the key that a record shows: an empty one where it shows that there is none."""
    raw = video.raw if isinstance(video.raw, dict) else {}
    return str(raw["idempotency_key"] or "") if "idempotency_key" in raw else None


def _is_open(video: Video, *, new: bool) -> bool:
    """Whether a video without a row's key may be a row's all the same.

    With `new`, one under another key of ours is another campaign's.
    """
    key = key_of(video)
    is_other = bool(key) and (new or not str(key).startswith(f"{RECIPE}_"))
    return not is_other and video.status not in ENDED


class _Traits:
    """What videos of some rows may be known by: their titles, and digests of their contents."""

    def __init__(self) -> None:
        self.titles: set[str | None] = set()
        self.contents: set[bytes] = set()

    def add(self, asked: Mapping[str, Json]) -> None:
        """Add what a row asks for."""
        self.titles.add(_title(asked))
        self.contents |= _contents(asked)

    def fit(self, raw: Json) -> bool:
        """Whether a record has one of the titles or of the contents, or shows neither."""
        title, shown = _title(raw), _contents(raw)
        if title in self.titles or not self.contents.isdisjoint(shown):
            return True
        return (title is None or None in self.titles) and not shown


async def _traits(at: Context, campaign: Campaign, wanted: Sequence[UnpaidRow]) -> _Traits:
    traits = _Traits()
    for page in pages_of(wanted):
        query = partial(rows_of, campaign_id=campaign.id, named=[row.row for row in page])
        for row in await at.ledger.read(query):
            traits.add(row.asked())
    return traits


@dataclass(frozen=True, kw_only=True)
class _Edit:
    """An edit that a row asks for: what its video was made of, and cost (None: not known).

    `was_tried` says that this ledger has sent it, so that what the video shows of it is no wonder.
    """

    row: UnpaidRow
    made: Mapping[str, Json]
    wanted: Mapping[str, Json]
    charged: Decimal | None
    was_tried: bool

    def seen_in(self, video: Video) -> str | None:
        """Say what a record shows of the edit: a backup of a ledger may be older than it."""
        raw = video.raw if isinstance(video.raw, dict) else {}
        asked = {} if self.was_tried else self.wanted
        new = [name for name, value in asked.items() if self.made.get(name) != value]
        shown = [name for name in new if name in raw and raw[name] == self.wanted[name]]
        seen = [f"the new {' and '.join(shown)}"] if shown else []
        charged, known = video.charged, self.charged
        if charged is not None and known is not None and charged > known:
            seen.append(f"{in_credits(charged)} charged, {as_text(known)} of them known here")
        if video.status in RUNNING and not self.was_tried:
            seen.append("a render under way")
        words = f"the service shows {video.id} with {' and '.join(seen)}: its edit may be paid for"
        return words if seen else None


async def _edits(at: Context, campaign: Campaign, wanted: Sequence[UnpaidRow]) -> dict[str, _Edit]:
    """Return the edits that rows ask for, by the videos that they would change."""
    found: dict[str, _Edit] = {}
    for page in pages_of([row for row in wanted if edit_of(row.operation)]):
        of_row = {row.id: row for row in page}
        takes: dict[int, list[Take]] = defaultdict(list)
        query = partial(takes_of, campaign_id=campaign.id, numbers=list(of_row))
        for number, take in await at.ledger.read(query):
            takes[number].append(take)
        these = partial(rows_of, campaign_id=campaign.id, numbers=list(of_row))
        for row in await at.ledger.read(these):
            made = last_made(takes[row.id])
            if made is None or made.video_id is None:
                continue
            costs = [one.charged for one in takes[row.id] if one.video_id == made.video_id]
            known = [cost for cost in costs if cost is not None]
            found[made.video_id] = _Edit(
                row=of_row[row.id],
                made=made.asked(),
                wanted=row.asked(),
                charged=sum(known, Decimal(0)) if len(known) == len(costs) else None,
                was_tried=any(take.digest == row.digest for take in takes[row.id]),
            )
    return found


async def _alike(
    at: Context,
    campaign: Campaign,
    wanted: Sequence[UnpaidRow],
    videos: Sequence[Video],
    sent: Collection[str],
) -> dict[str, EarlierTake]:
    """Return for each row in doubt a video of no take of this ledger that may be the row's.

    One that shows all that the row asks for, or else one of which an edit would make that.
    """
    known = _Shown.of(await _unclaimed(at, videos))
    exact: dict[str, Video] = {}
    loose: dict[str, Video] = {}
    for page in pages_of(wanted) if known.by_title else ():
        query = partial(rows_of, campaign_id=campaign.id, named=[row.row for row in page])
        for row in await at.ledger.read(query):
            near = known.near(row.asked())
            may_be = [video for video in near if not _is_safe(at, row, video, sent)]
            if same := _first(may_be, row, shows):
                exact[row.row] = same
            elif row.operation == CREATE and (older := _first(may_be, row, _may_become)):
                loose[row.row] = older
    # What shows all that one row asks for is no older form of another row.
    claimed = {video.id for video in exact.values()}
    found = {name: video for name, video in loose.items() if video.id not in claimed} | exact
    return {
        row.row: _in_doubt(
            row,
            found[row.row],
            f"the service lists {found[row.row].id}, which may be the video of this row",
        )
        for row in wanted
        if row.row in found
    }


@dataclass(frozen=True)
class _Shown:
    """Listed videos, by what they show: their titles, and digests of their contents."""

    by_title: Mapping[str | None, Sequence[Video]]
    by_contents: Mapping[bytes, Sequence[Video]]

    @classmethod
    def of(cls, videos: Iterable[Video]) -> _Shown:
        """Sort videos by what they show."""
        by_title: dict[str | None, list[Video]] = defaultdict(list)
        by_contents: dict[bytes, list[Video]] = defaultdict(list)
        for video in videos:
            by_title[_title(video.raw)].append(video)
            for digest in _contents(video.raw):
                by_contents[digest].append(video)
        return cls(by_title, by_contents)

    def near(self, asked: Mapping[str, Json]) -> list[Video]:
        """Return the videos that have the title or the contents which a row asks for, or no title.

        All, for a row without a title.
        """
        title = _title(asked)
        if title is None:
            return [video for some in self.by_title.values() for video in some]
        same = [one for digest in _contents(asked) for one in self.by_contents.get(digest, ())]
        titled = [*self.by_title.get(title, ()), *self.by_title.get(None, ())]
        return list({one.id: one for one in (*titled, *same)}.values())


async def _unclaimed(at: Context, videos: Sequence[Video]) -> list[Video]:
    """Return the videos that no take of this ledger made."""
    free: list[Video] = []
    for page in pages_of(videos):
        ours = await at.ledger.read(tracked_videos, videos=[one.id for one in page])
        keys = {key for one in page if (key := key_of(one))}
        taken = await at.ledger.read(taken_keys, keys=keys)
        known = {one.video_id for one in ours}
        free += [one for one in page if one.id not in known and key_of(one) not in taken]
    return free


def _first(
    videos: Iterable[Video], row: CampaignRow, fits: Callable[[Json, Mapping[str, Json]], bool]
) -> Video | None:
    asked = row.asked()
    return next((video for video in videos if fits(video.raw, asked)), None)


def _is_safe(at: Context, row: CampaignRow, video: Video, sent: Collection[str]) -> bool:
    """Whether a row may be paid for although this video is there."""
    if row.operation != CREATE:
        return False
    # The service shows keys, and this video was made without one.
    if key_of(video) == "":
        return True
    # Sent again under the key that was sent, a request makes no second video while that is known.
    created = created_at(video.raw)
    young = created is not None and -SKEW <= at.clock() - created < at.settings.horizon
    return young and row.row in sent


def _may_become(raw: Json, asked: Mapping[str, Json]) -> bool:
    """Whether an edit of a video, as its record shows it, makes what a row asks for."""
    if not isinstance(raw, dict):
        return False
    wanted = {name: value for name, value in asked.items() if name not in _EDITED}
    shown = {name: raw[name] for name in wanted if name in raw}
    if not any(shown[name] == wanted[name] for name in shown.keys() - _SHARED):
        return False
    made = wanted | shown
    return made == wanted or edit_between(made, wanted) is not None


def _title(record: Json | Mapping[str, Json]) -> str | None:
    title = record.get("title") if isinstance(record, Mapping) else None
    return title if isinstance(title, str) else None


def _contents(record: Json | Mapping[str, Json]) -> set[bytes]:
    """Return digests of what a record says to show or to say."""
    if not isinstance(record, Mapping):
        return set()
    told = ((name, record.get(name)) for name in _CONTENTS)
    return {hashlib.sha256(canonical_json(list(one))).digest() for one in told if one[1]}
