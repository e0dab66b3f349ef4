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
from callsheet.tasks.campaign.selection import Selection
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.deliveries import find_take_video
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.row_pages import ShownRow, shown_rows
from callsheet.tasks.ledger.row_selection import RowFilter
from callsheet.tasks.ledger.values import rows_of
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
    ledger: Ledger, campaign: Campaign, pictures: Pictures, chosen: Selection
) -> list[SheetVideo]:
    """Return the videos of the selected rows in sheet order, with their pictures."""
    rows = await ledger.read(rows_of, campaign_id=campaign.id)
    wanted = {row.id for row in rows if chosen(row, row.asked(), row.state)}
    videos: list[SheetVideo] = []
    after: str | None = None
    while True:
        shown = await ledger.read(
            shown_rows, campaign_id=campaign.id, which=RowFilter(video=True), after=after
        )
        for row in shown.rows:
            if row.id in wanted and row.video_take is not None:
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
    figures = "\n".join(_figure(video) for video in videos)
    title = f"{escape(campaign)}: {count(len(videos), 'video')}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>{title}</h1><p>{escape(_sums(videos))} · {escape(at)}</p></header>\n"
        f"<main>\n{figures}\n</main>\n</body>\n</html>\n"
    ).encode()


def _sums(videos: Sequence[SheetVideo]) -> str:
    verdicts = [video.row.verdict for video in videos]
    kept, rejected = verdicts.count("keep"), verdicts.count("reject")
    flagged = sum(bool(video.wrong) for video in videos)
    undecided = len(videos) - kept - rejected
    return f"{kept} kept, {rejected} rejected, {undecided} undecided; {flagged} with a finding"


def _figure(video: SheetVideo) -> str:
    title = escape(video.row.title)
    pictures = "".join(
        f'<img class="{kind}" src="data:image/jpeg;base64,{base64.b64encode(data).decode()}" '
        f'alt="{escape(alt)}">'
        for kind, data, alt in (
            ("poster", video.poster, f"{video.row.title}: one frame"),
            ("strip", video.strip, f"{video.row.title}: ten frames"),
        )
        if data
    )
    wrong = "".join(f'<p class="wrong">{escape(words)}</p>' for words in video.wrong)
    verdict = f'<p class="{video.row.verdict or "open"}">{escape(video.verdict)}</p>'
    return (
        f"<figure>{pictures or '<p>no picture can be made</p>'}<figcaption><h2>{title}</h2>"
        f"<p>{escape(video.facts)}</p>{wrong}{verdict}</figcaption></figure>"
    )


_STYLE = """
:root{color-scheme:light dark;--paper:#fafaf9;--ink:#18181b;--faint:#63636b;--line:#e4e4e7;
--wrong:#b42318;--keep:#067647}
@media(prefers-color-scheme:dark){:root{--paper:#131316;--ink:#f4f4f5;--faint:#a1a1aa;
--line:#2e2e33;--wrong:#f97066;--keep:#47cd89}}
body{margin:0;padding:24px;background:var(--paper);color:var(--ink);
font:14px/1.45 system-ui,sans-serif}
h1{font-size:20px;margin:0}h2{font-size:15px;margin:0;overflow-wrap:anywhere}
p{margin:2px 0;color:var(--faint);overflow-wrap:anywhere}
main{display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:20px;
margin-top:20px}
figure{margin:0;border:1px solid var(--line);border-radius:8px;padding:12px;break-inside:avoid}
.poster{display:block;height:260px;max-width:100%;object-fit:contain;margin:0 auto}
.strip{display:block;width:100%;margin:8px 0}
.wrong,.reject{color:var(--wrong)}.keep{color:var(--keep)}
"""
