"""A contact sheet of a campaign for emails: pictures, title and status of each video.

HTML without external parts (no video, link or script). Text from sheets, services and people is
always escaped.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from callsheet.tasks.aftercare.pictures import Pictures
from callsheet.tasks.campaign.selection import check_chosen
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.deliveries import find_take_video
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import shown_rows
from callsheet.tasks.ledger.row_views import ShownRow
from callsheet.tasks.values.amounts import count, say_duration

_VERDICTS = {"keep": "kept", "reject": "rejected", None: "not reviewed yet"}


@dataclass(frozen=True, kw_only=True)
class SheetVideo:
    """One video on the sheet; pictures are JPEGs, or None."""

    row: ShownRow
    poster: bytes | None
    strip: bytes | None

    @property
    def facts(self) -> str:
        """The description in one line."""
        row = self.row
        length = None if row.seconds is None else say_duration(round(row.seconds))
        said = (row.row, f"take {row.video_take}", length, row.ratio, row.language)
        return " · ".join(str(one) for one in said if one)

    @property
    def wrong(self) -> list[str]:
        """The problems that checks found."""
        return [words for words in self.row.checks.values() if words != "ok"]

    @property
    def verdict(self) -> str:
        """The review."""
        review = self.row.review
        why = f": {review.because}" if review is not None and review.because else ""
        return f"{_VERDICTS[self.row.verdict]}{why}"


async def videos_on_sheet(
    ledger: Ledger, campaign: Campaign, pictures: Pictures, select: str | None
) -> list[SheetVideo]:
    """Return the videos of the selected rows in sheet order, with their pictures."""
    which = RowFilter.parse(select)
    await ledger.read(check_chosen, campaign=campaign, which=which)
    which &= RowFilter.of(video="yes")
    videos: list[SheetVideo] = []
    after: str | None = None
    while True:
        shown = await ledger.read(shown_rows, campaign_id=campaign.id, which=which, after=after)
        for row in shown.rows:
            if row.video_take is not None:
                videos.append(await _video(ledger, campaign, pictures, row, row.video_take))
        if shown.next is None:
            return videos
        after = shown.next


async def _video(
    ledger: Ledger, campaign: Campaign, pictures: Pictures, row: ShownRow, take: int
) -> SheetVideo:
    found = await ledger.read(find_take_video, campaign=campaign.name, row=row.row, take=take)
    if found is None:
        return SheetVideo(row=row, poster=None, strip=None)
    poster, strip = await pictures.find(found, "poster"), await pictures.find(found, "strip")
    return SheetVideo(row=row, poster=poster, strip=strip)


def as_html(campaign: str, videos: Sequence[SheetVideo], at: str) -> bytes:
    """Return the sheet as a self-contained page; `at` is when it was made."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    templates = Environment(
        loader=PackageLoader("callsheet.tasks.aftercare"),
        autoescape=True,
        undefined=StrictUndefined,
        # Quotes by their names, as readers of the source expect them.
        finalize=lambda value: Markup(escape(value)) if type(value) is str else value,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["base64"] = lambda data: base64.b64encode(data).decode()
    title = f"{campaign}: {count(len(videos), 'video')}"
    shown = {"title": title, "sums": _sums(videos), "at": at, "videos": videos}
    return templates.get_template("contact_sheet.html").render(shown).encode()


def _sums(videos: Sequence[SheetVideo]) -> str:
    verdicts = [video.row.verdict for video in videos]
    kept, rejected = verdicts.count("keep"), verdicts.count("reject")
    flagged = sum(bool(video.wrong) for video in videos)
    undecided = len(videos) - kept - rejected
    return f"{kept} kept, {rejected} rejected, {undecided} undecided; {flagged} with a finding"
