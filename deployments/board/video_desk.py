"""A campaign's videos as one person has them before them: what the pages about videos show.

Asks the ledger and knows no HTTP: which videos, and which of them is open, is told by a
`VideoView`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import quote

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.guests import shown_to
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.video_view import (
    VideoCard,
    VideoChip,
    VideoView,
    card_of,
    chips_of,
    narrowed,
    video_address,
    with_request,
)
from callsheet.deployments.board.who import Person
from callsheet.tasks.credits import in_credits
from callsheet.tasks.ledger import (
    REASONS,
    RETAKEABLE,
    Campaign,
    RowFilter,
    Shown,
    ShownRow,
    Variety,
    count_shown,
    counts_of,
    find_campaign,
    shown_rows,
    tally_of,
    variety_of,
    whole_row,
)
from callsheet.tasks.ledger.shown import PAGE

#: What a person chooses from, as the page says it.
ORDERS = {"sheet": "In the order of the sheet", "worst": "Worst first", "since": "Newest first"}
#: What the form above the videos asks for itself.
FIELDS = ("sort", "q", "language", "ratio", "tool")
TALL, WIDE = ("9:16", "4:5", "3:4", "2:3"), ("16:9", "4:3", "3:2", "21:9")


@dataclass(frozen=True)
class VideoDesk:
    """A campaign's videos as one person has them before them."""

    board: Board
    person: Person
    campaign: Campaign

    @classmethod
    async def of(cls, board: Board, person: Person, name: str) -> VideoDesk:
        found = await board.read(partial(find_campaign, name=name))
        if found is None:
            raise ProblemDetails(404, f"the ledger knows no campaign {name}")
        return cls(board, person, found)

    @property
    def root(self) -> str:
        return f"/c/{quote(self.campaign.name, safe='')}"

    async def shown(self, view: VideoView, since: float | None) -> dict[str, Any]:
        """Return what the whole page shows."""
        found, chips, tally, variety = await asyncio.gather(
            self._page(view),
            self.chips(view, since),
            self.board.read(partial(tally_of, campaign=self.campaign)),
            self.board.read(partial(variety_of, campaign_id=self.campaign.id)),
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
            "rejected": await self.count(RowFilter(video=True, review="reject", states=RETAKEABLE)),
            "total": 0 if cards else await self.count(RowFilter(video=True)),
            "matching": await self._matching(view, chips),
            "more": more,
            "page_size": PAGE,
            "sorts": ORDERS,
            "choices": _choices(view, variety),
            "kept": [pair for pair in replace(view, after=None).pairs() if pair[0] not in FIELDS],
            "shape": _shape(found.rows),
            "until": self.board.clock(),
            "other_look": replace(view, strips=not view.strips).address(self.root, open=view.open),
        }

    async def opened(self, view: VideoView, card: VideoCard) -> dict[str, Any]:
        """Return what is shown of the video that is open, and what every part of the page needs."""
        whole = await self.board.read(
            partial(whole_row, campaign_id=self.campaign.id, row=card.row)
        )
        assert whole is not None
        take = next(one for one in whole.takes if one.take.number == card.take)
        older = (one for one in whole.takes if one.files and one.take.number < card.take)
        before = None
        if last := next(older, None):
            address = video_address(self.campaign.name, card.row, last.take.number)
            before = {"take": last.take.number, "address": address}
            before["review"] = shown_to(self.person, last.review)
        if self.person.guest is None:
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
            "may_decide": self.person.may("reviewer"),
            "may_retake": self.person.may("approver"),
            "may_download": self.person.may_download,
            # Somebody who came by a link sees videos, and no other page.
            "guest": self.person.guest is not None,
            "refused": None,
        }

    async def chips(self, view: VideoView, since: float | None) -> list[VideoChip]:
        """Return the choices among the videos, counted by the ledger."""
        counts = await self._plain_counts(view)
        for words, one in narrowed(view, since).items():
            if words not in counts:
                counts[words] = await self.count(one.which)
        return chips_of(view, self.root, counts, since)

    async def _plain_counts(self, view: VideoView) -> dict[str, int]:
        """Return what the ledger counts from its indexes, where all videos are asked about."""
        if replace(view.which, review=None, flagged=None, since=None) != RowFilter(video=True):
            return {}
        found = await self.board.read(partial(counts_of, campaign_id=self.campaign.id))
        words = {"Undecided": "none", "Kept": "keep", "Rejected": "reject"}
        decided = {word: found.reviews[verdict] for word, verdict in words.items()}
        return {"All": found.videos, "Flagged": found.flagged, **decided}

    async def _matching(self, view: VideoView, chips: Sequence[VideoChip]) -> int:
        counted = next((chip.count for chip in chips if chip.chosen), None)
        return await self.count(view.which) if counted is None else counted

    async def count(self, which: RowFilter) -> int:
        """Return how many videos match."""
        return await self.board.read(
            partial(count_shown, campaign_id=self.campaign.id, which=which)
        )

    async def card(self, view: VideoView, row: str) -> VideoCard:
        """Return the card of one row, whether it matches the view or not."""
        found = await self._rows(RowFilter(rows=(row,), video=True))
        if not found:
            raise ProblemDetails(404, f"{self.campaign.name} has no video of a row {row[:80]}")
        return self._card(view, found[0])

    async def next_undecided(self, view: VideoView, row: str) -> str | None:
        """Return the first row after this one on its page whose video is not reviewed yet."""
        found = (await self._page(view)).rows
        here = next((at for at, one in enumerate(found) if one.row == row), -1)
        turned = [*found[here + 1 :], *found[: max(here, 0)]]
        return next((one.row for one in turned if one.review is None), None)

    def _card(self, view: VideoView, row: ShownRow) -> VideoCard:
        card = card_of(row, self.campaign.name, view.address(self.root, open=row.row))
        if self.person.guest is None:
            return replace(card, facts=[*card.facts, f"{in_credits(row.charged)} in all"])
        return replace(card, review=shown_to(self.person, card.review))

    async def _rows(self, which: RowFilter) -> Sequence[ShownRow]:
        return (await self._read(which)).rows

    async def _page(self, view: VideoView) -> Shown:
        return await self._read(view.which, sort=view.sort, after=view.after)

    async def _read(self, which: RowFilter, **how: Any) -> Shown:
        return await self.board.read(
            partial(shown_rows, campaign_id=self.campaign.id, which=which, **how)
        )


def _shape(rows: Sequence[ShownRow]) -> str:
    """Return the shape in which most of these videos are seen well."""
    tall = sum(row.ratio in TALL for row in rows)
    wide = sum(row.ratio in WIDE for row in rows)
    return "tall" if tall > 2 * wide else "landscape" if wide > 2 * tall else "square"


def _choices(view: VideoView, variety: Variety) -> list[tuple[str, str, str, list[str]]]:
    """Return what to choose from of each kind: its name, the words for all, the chosen one."""
    kinds = {"language": variety.languages, "ratio": variety.ratios, "tool": variety.tools}
    found = []
    for name, values in kinds.items():
        chosen = getattr(view.which, name) or ""
        if len(values) > 1 or chosen:
            found.append((name, f"All {name}s", chosen, sorted({*values, chosen} - {""})))
    return found
