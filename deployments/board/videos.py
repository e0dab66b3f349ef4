"""The videos page: which videos, in which order, and the open one.

Asks the ledger and knows no HTTP: which videos, and which of them is open, is told by a
`VideoView`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.row_filters import FILTERS, GUEST_SORTS, pairs_of, rows_in, typed
from callsheet.tasks.aftercare.guests import shown_to, within
from callsheet.tasks.ledger.campaigns import Campaign, tally_of
from callsheet.tasks.ledger.decisions import RETAKEABLE
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.reviews import REASONS, Review, Verdict
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_history import whole_row
from callsheet.tasks.ledger.row_pages import (
    Shown,
    Sort,
    count_shown,
    counts_of,
    shown_rows,
)
from callsheet.tasks.ledger.row_selection import Variety, variety_of
from callsheet.tasks.ledger.row_views import Provenance, ShownRow
from callsheet.tasks.ledger.values import Take
from callsheet.tasks.values.amounts import in_credits

#: What a person chooses from, as the page says it.
ORDERS = {"sheet": "Sheet order", "since": "Newest first", "worst": "Worst first"}
#: Videos that are shown before somebody goes on: three screens of them.
SHOWN = 40
#: What the form above the videos asks for itself.
FIELDS = ("sort", "q", "language", "ratio", "tool")
VIDEOS = RowFilter.of(video="yes")
#: What its chips choose by.
_CHIPPED = dict.fromkeys(("review", "client", "flagged", "since"))
TALL, WIDE = ("9:16", "4:5", "3:4", "2:3"), ("16:9", "4:3", "3:2", "21:9")


@dataclass(frozen=True)
class Gallery:
    """A campaign's videos as one person has them before them."""

    board: Board
    campaign: Campaign

    @classmethod
    async def of(cls, board: Board, name: str) -> Gallery:
        return cls(board, await board.campaign(name))

    @property
    def root(self) -> str:
        return f"/c/{quote(self.campaign.name, safe='')}"

    async def shown(self, view: VideoView, since: float | None) -> dict[str, Any]:
        """Return what the whole page shows."""
        found, chips, tally, variety = await asyncio.gather(
            self._page(view),
            self.chips(view, since),
            self.board.read(tally_of, campaign=self.campaign),
            self.board.read(
                variety_of,
                campaign_id=self.campaign.id,
                which=RowFilter() if self.is_inside else within(self.board.who, VIDEOS),
            ),
        )
        told: dict[str, Any] = {**self._common(view), "videos": []}
        cards = [self._card(view, row) for row in found.rows]
        if cards:
            first = next((card for card in cards if card.review is None), cards[0])
            card = await self.card(view, view.open or first.row)
            told = {**await self.opened(view, card), "videos": cards}
        more = replace(view, after=found.next).address(self.root) if found.next else None
        return told | {
            "tab": "videos",
            "tally": tally,
            "chips": chips,
            "rejected": await self.rejected(),
            "total": 0 if cards else await self.count(VIDEOS),
            "matching": await self._matching(view, chips),
            "more": more,
            "page_size": SHOWN,
            # What checks found and which tool made it is no matter of a client.
            "sorts": ORDERS if self.is_inside else {one: ORDERS[one] for one in GUEST_SORTS},
            "choices": _choices(view, variety, inside=self.is_inside),
            "kept": [pair for pair in replace(view, after=None).pairs() if pair[0] not in FIELDS],
            "shape": _shape(found.rows),
            "until": self.board.clock(),
            "zip": zip_address(self.campaign.name, view.which),
            "other_look": replace(view, strips=not view.strips).address(self.root, open=view.open),
        }

    @property
    def is_inside(self) -> bool:
        """Whether someone of the team looks, and nobody who came by a link."""
        return self.board.who.guest is None

    async def rejected(self) -> int:
        """Return how many rejected videos can be made again."""
        return await self.count(VIDEOS & RowFilter.of(review="reject", state=RETAKEABLE))

    async def opened(self, view: VideoView, card: VideoCard) -> dict[str, Any]:
        """Return what is shown of the video that is open, and what every part of the page needs."""
        whole = await self.board.read(whole_row, campaign_id=self.campaign.id, row=card.row)
        assert whole is not None
        take = next(one for one in whole.takes if one.take.number == card.take)
        # Outside, nothing is shown of videos that were not good enough.
        takes = whole.takes if self.is_inside else ()
        older = (one for one in takes if one.video.files and one.take.number < card.take)
        before = None
        if last := next(older, None):
            address = video_address(self.campaign.name, card.row, last.take.number)
            before = {"take": last.take.number, "address": address}
            before["review"] = last.review
        if self.is_inside:
            card = with_request(card, take.take)
        return self._common(view) | {
            "chosen": card,
            "before": before,
            "alone": view.address(self.root, open=card.row),
            "beside": view.address(self.root, open=card.row, compare="yes"),
        }

    def _common(self, view: VideoView) -> dict[str, Any]:
        return {
            "campaign": self.campaign.name,
            "root": self.root,
            "view": view,
            "reasons": REASONS,
            "may_decide": self.board.who.may("reviewer"),
            "may_retake": self.is_inside and self.board.who.may("reviewer"),
            "may_download": self.board.who.may_download,
            # Someone who came by a link sees videos, and no other page.
            "guest": self.board.who.guest,
            "refused": None,
        }

    async def chips(self, view: VideoView, since: float | None) -> list[VideoChip]:
        """Return the choices among the videos, counted by the ledger."""
        counts = await self._plain_counts(view)
        choices = narrowed(view, since, inside=self.is_inside)
        for words, one in choices.items():
            if words not in counts:
                counts[words] = await self.count(one.which)
        return chips_of(view, self.root, counts, choices)

    async def _plain_counts(self, view: VideoView) -> dict[str, int]:
        """Return what the ledger counts from its indexes, where all videos are asked about."""
        if not self.is_inside or view.which.but(**_CHIPPED) != VIDEOS:
            return {}
        found = await self.board.read(counts_of, campaign_id=self.campaign.id)
        words = {"Undecided": "none", "Kept": "keep", "Rejected": "reject"}
        decided = {word: found.reviews[verdict] for word, verdict in words.items()}
        return {"All": found.videos, "Flagged": found.flagged, **decided}

    async def _matching(self, view: VideoView, chips: Sequence[VideoChip]) -> int:
        counted = next((chip.count for chip in chips if chip.chosen), None)
        return await self.count(view.which) if counted is None else counted

    async def count(self, which: RowFilter) -> int:
        """Return how many videos match."""
        which = within(self.board.who, which)
        return await self.board.read(count_shown, campaign_id=self.campaign.id, which=which)

    async def card(self, view: VideoView, row: str) -> VideoCard:
        """Return the card of one row, whether it matches the view or not."""
        found = (await self._read(VIDEOS & RowFilter.of(row=row))).rows
        if not found:
            raise ProblemDetails(404, f"{self.campaign.name} has no video of a row {row[:80]}")
        return self._card(view, found[0])

    async def next_undecided(self, view: VideoView, row: str) -> str | None:
        """Return the first row after this one on its page whose video is not reviewed yet."""
        found = (await self._page(view)).rows
        here = next((at for at, one in enumerate(found) if one.row == row), -1)
        turned = [*found[here + 1 :], *found[: max(here, 0)]]
        undecided = (one.row for one in turned if self._review(one) is None)
        return next(undecided, None)

    def _review(self, row: ShownRow) -> Review | None:
        """Return what the side of who looks said of a video."""
        return row.review if self.is_inside else shown_to(self.board.who, row.client)

    def _card(self, view: VideoView, row: ShownRow) -> VideoCard:
        card = card_of(row, self.campaign.name, view.address(self.root, open=row.row))
        if self.is_inside:
            charged = in_credits(row.charged, self.board.settings.credit_price)
            facts = [*card.facts, *filter(None, [row.tool]), charged]
            return replace(card, client=row.client, facts=facts)
        return replace(card, review=self._review(row), checks={})

    async def _page(self, view: VideoView) -> Shown:
        return await self._read(view.which, sort=view.sort, after=view.after, limit=SHOWN)

    async def _read(self, which: RowFilter, **how: Any) -> Shown:
        which = within(self.board.who, which)
        return await self.board.read(shown_rows, campaign_id=self.campaign.id, which=which, **how)


def zip_address(campaign: str, which: RowFilter) -> str:
    """Return where the ZIP of the videos that match is."""
    return f"/campaigns/{quote(campaign, safe='')}/videos.zip?{urlencode(pairs_of(which))}"


def _shape(rows: Sequence[ShownRow]) -> str:
    """Return the shape in which most of these videos are seen well."""
    tall = sum(row.ratio in TALL for row in rows)
    wide = sum(row.ratio in WIDE for row in rows)
    return "tall" if tall > 2 * wide else "landscape" if wide > 2 * tall else "square"


def _choices(
    view: VideoView, variety: Variety, *, inside: bool
) -> list[tuple[str, str, str, list[str]]]:
    """Return what to choose from of each kind: its name, the words for all, the chosen one."""
    kinds = {"language": variety.languages, "ratio": variety.ratios}
    kinds |= {"tool": variety.tools} if inside else {}
    found = []
    for name, values in kinds.items():
        chosen = view.which.word(FILTERS[name]) or ""
        if len(values) > 1 or chosen:
            found.append((name, f"All {name}s", chosen, sorted({*values, chosen} - {""})))
    return found


# What the videos page shows of what its address asks for: which videos, how, and the one open.
#
# Knows neither SQL nor HTTP: it is given the address as pairs, and rows as the ledger shows them.


@dataclass(frozen=True, kw_only=True)
class VideoView:
    """What an address of the videos page asks for; `open` is the id of the row whose video is."""

    which: RowFilter
    sort: Sort = "sheet"
    after: str | None = None
    open: str | None = None
    compare: bool = False
    #: Ten frames of each video instead of a poster.
    strips: bool = False

    @classmethod
    def of(cls, query: QueryParams, person: Person) -> VideoView:
        """Read what stands behind the question mark; ProblemDetails for what makes no sense."""
        asked = rows_in(query, "open", "compare", "look", "done", guest=person.guest is not None)
        return cls(
            which=asked.which.but(video="yes"),
            sort=asked.sort,
            after=asked.after,
            open=query.get("open") or None,
            compare=query.get("compare") == "yes",
            strips=query.get("look") == "strips",
        )

    def pairs(self) -> list[tuple[str, str]]:
        """Return it as pairs of an address, without which video is open."""
        found = pairs_of(self.which.but(video=None))
        found += [("sort", self.sort)] if self.sort != "sheet" else []
        found += [("look", "strips")] if self.strips else []
        return found + ([("after", self.after)] if self.after else [])

    def filters(self) -> list[tuple[str, str]]:
        """Return which videos it shows as a form says it, for an act that is about all of them."""
        return pairs_of(self.which.but(until=None))

    @property
    def selection(self) -> str:
        """The same rows as a selection."""
        return str(self.which.but(video=None))

    @property
    def typed(self) -> str:
        """The same rows for the command line."""
        return typed(self.which.but(video=None))

    @property
    def query(self) -> str:
        """The view as an address has it, without the video that is open."""
        return urlencode(self.pairs())

    def address(self, root: str, **more: str | None) -> str:
        """Return the address of the page, with more in it."""
        pairs = self.pairs() + [(name, value) for name, value in more.items() if value]
        return f"{root}/videos{'?' if pairs else ''}{urlencode(pairs)}"


@dataclass(frozen=True, kw_only=True)
class VideoCard:
    """A video as its card and the player show it; `address` lacks the kind: `.mp4`, `.jpg`."""

    id: int
    row: str
    title: str
    take: int
    address: str
    here: str
    review: Review | None
    checks: Mapping[str, str]
    provenance: Provenance
    #: What the client says of it, where the team looks.
    client: Review | None = None
    seconds: float | None = None
    language: str | None = None
    captions: bool = False
    #: Whether a matrix made it, so that others have its title.
    is_variant: bool = False
    #: A take after this one, whose video is not here yet.
    newer: bool = False
    facts: Sequence[str] = ()
    asked: Sequence[tuple[str, str]] = ()

    @property
    def flags(self) -> list[str]:
        """What was found wrong when the video was looked at."""
        return [f"{name}: {words}" for name, words in self.checks.items() if words != "ok"]

    @property
    def length(self) -> str:
        """Minutes and seconds; empty where they are not known."""
        return "" if self.seconds is None else f"{self.seconds // 60:.0f}:{self.seconds % 60:02.0f}"


def card_of(shown: ShownRow, campaign: str, here: str) -> VideoCard:
    """Return the card of a row that has a video; `here` is the address that opens it."""
    assert shown.video_take_id is not None
    assert shown.video_take is not None
    return VideoCard(
        id=shown.video_take_id,
        row=shown.row,
        title=shown.title,
        take=shown.video_take,
        is_variant=shown.variant_of is not None,
        address=video_address(campaign, shown.row, shown.video_take),
        here=here,
        review=shown.review,
        checks=shown.checks,
        provenance=shown.provenance,
        seconds=shown.seconds,
        language=shown.language,
        captions="vtt" in shown.files or "srt" in shown.files,
        newer=shown.take > shown.video_take,
        facts=[*filter(None, (shown.ratio, shown.language))],
    )


def with_request(card: VideoCard, take: Take) -> VideoCard:
    """Return the card with what was asked of the service for its take, field by field."""
    asked = [(name, _said(value)) for name, value in take.asked().items()]
    return replace(card, asked=asked)


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_said(one)}" for name, one in value.items())
    return ", ".join(map(_said, value)) if isinstance(value, list) else str(value)


def video_address(campaign: str, row: str, take: int) -> str:
    """Return where the files of a take are, without their kind."""
    return f"/videos/{quote(campaign, safe='')}/{quote(row, safe='')}/{take}"


@dataclass(frozen=True, kw_only=True)
class VideoChip:
    """A choice among the videos, and how many it would show."""

    words: str
    address: str
    count: int
    chosen: bool


def narrowed(view: VideoView, since: float | None, *, inside: bool) -> dict[str, VideoView]:
    """Return what each chip shows; `since` is when the person was here before (Unix seconds).

    Outside (not `inside`) verdicts are the client's, and what was flagged is nobody's matter.
    """
    base = view.which.but(**_CHIPPED)
    if inside:
        found = {
            "All": base,
            "Undecided": base.but(review="none"),
            "Kept": base.but(review="keep"),
            "Rejected": base.but(review="reject"),
            "Flagged": base.but(flagged="yes"),
            **{words: base.but(client=verdict) for words, verdict in _BY_CLIENT.items()},
        }
    else:
        found = {
            "All": base,
            "Undecided": base.but(client="none"),
            "Approved": base.but(client="keep"),
            "Rejected": base.but(client="reject"),
        }
    if said := view.which.word("since") or (None if since is None else repr(since)):
        found["New since my last visit"] = base.but(since=said)
    return {words: replace(view, which=which, after=None) for words, which in found.items()}


#: What is shown where a client has said something.
_BY_CLIENT: Mapping[str, Verdict] = {"Client approved": "keep", "Client rejected": "reject"}


def chips_of(
    view: VideoView, root: str, counts: Mapping[str, int], choices: Mapping[str, VideoView]
) -> list[VideoChip]:
    """Return the chips, with how many videos each would show (`counts`, by the words on it)."""
    return [
        VideoChip(
            words=words,
            address=other.address(root),
            count=counts[words],
            chosen=other.which == view.which,
        )
        for words, other in choices.items()
        if counts[words] or words not in _BY_CLIENT or other.which == view.which
    ]
