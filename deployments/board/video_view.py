"""What the videos page shows of what its address asks for: which videos, how, and the one open.

Knows neither SQL nor HTTP: it is given the address as pairs, and rows as the ledger shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams

from callsheet.deployments.board.asked import pairs_of, rows_in
from callsheet.tasks.ledger import Review, RowFilter, ShownRow, Sort, Take


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
    def of(cls, query: QueryParams) -> VideoView:
        """Read what stands behind the question mark; ProblemDetails for what makes no sense."""
        asked = rows_in(query, "open", "compare", "look", "done")
        return cls(
            which=replace(asked.which, video=True),
            sort=asked.sort,
            after=asked.after,
            open=query.get("open") or None,
            compare=query.get("compare") == "yes",
            strips=query.get("look") == "strips",
        )

    def pairs(self) -> list[tuple[str, str]]:
        """Return it as pairs of an address, without which video is open."""
        found = pairs_of(replace(self.which, video=None))
        found += [("sort", self.sort)] if self.sort != "sheet" else []
        found += [("look", "strips")] if self.strips else []
        return found + ([("after", self.after)] if self.after else [])

    def filters(self) -> list[tuple[str, str]]:
        """Return which videos it shows as a form says it, for an act that is about all of them."""
        return pairs_of(replace(self.which, until=None))

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
    seconds: float | None = None
    language: str | None = None
    captions: bool = False
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
    assert shown.video_id is not None
    assert shown.video_take is not None
    facts = [shown.ratio, shown.language, shown.tool]
    return VideoCard(
        id=shown.video_id,
        row=shown.row,
        title=shown.title,
        take=shown.video_take,
        address=video_address(campaign, shown.row, shown.video_take),
        here=here,
        review=shown.review,
        checks=shown.checks,
        seconds=shown.seconds,
        language=shown.language,
        captions="vtt" in shown.files or "srt" in shown.files,
        newer=shown.take > shown.video_take,
        facts=[*filter(None, facts)],
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


def narrowed(view: VideoView, since: float | None) -> dict[str, VideoView]:
    """Return what each chip shows; `since` is when the person was here before (Unix seconds)."""
    base = replace(view.which, review=None, flagged=None, since=None)
    found = {
        "All": base,
        "Undecided": replace(base, review="none"),
        "Kept": replace(base, review="keep"),
        "Rejected": replace(base, review="reject"),
        "Flagged": replace(base, flagged=True),
    }
    since = view.which.since or since
    if since is not None:
        found["New since my last visit"] = replace(base, since=since)
    return {words: replace(view, which=which, after=None) for words, which in found.items()}


def chips_of(
    view: VideoView, root: str, counts: Mapping[str, int], since: float | None
) -> list[VideoChip]:
    """Return the chips, with how many videos each would show (`counts`, by the words on it)."""
    return [
        VideoChip(
            words=words,
            address=other.address(root),
            count=counts[words],
            chosen=other.which == view.which,
        )
        for words, other in narrowed(view, since).items()
    ]
