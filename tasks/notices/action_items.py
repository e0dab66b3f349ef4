"""Action items after a nightly run, and the values of a notice. Pure.

An action item is sent when it is new, after three nights, after a week, and then every week. The
subject says for how long, so that the same email does not come every day.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import ClassVar, Literal
from urllib.parse import quote

from pydantic import ConfigDict

from callsheet.tasks.ledger.values import NEEDS_PERSON
from callsheet.tasks.nights.reports import NightReport, Outcome, SheetReport, names_of
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.suggest import suggest, suggest_run
from callsheet.tasks.values.amounts import CreditPrice, count, in_credits

#: Maximum problems or rows named in one action item.
NAMED = 4
#: An item is sent again after this many nights; after that, every week.
AGAIN = (3, 7)
#: The order of action items: the most expensive to ignore comes first.
ORDER: Sequence[Outcome] = ("needs-person", "not-approved", "invalid", "parked", "set-aside")


@dataclass(frozen=True, kw_only=True)
class About:
    """What a notice contained: its night, the ids of its action items, and videos by campaign.

    `sheets` are ids of all sheets of the night and are not stored. `told` has the end of each
    night that the notice covered, by date.
    """

    night: str
    marks: frozenset[str] = frozenset()
    videos: Mapping[str, int] = field(default_factory=dict)
    sheets: frozenset[str] = field(default=frozenset(), compare=False)
    told: Mapping[str, float] = field(default_factory=dict, compare=False)

    def as_text(self) -> str:
        """Return the text that the ledger stores."""
        said = {"night": self.night, "marks": sorted(self.marks), "videos": self.videos}
        return json.dumps({**said, "told": self.told}, sort_keys=True)

    @classmethod
    def read(cls, text: str) -> About:
        """Read what `as_text` wrote."""
        said = json.loads(text)
        return cls(**{**said, "marks": frozenset(said["marks"])})


def about(report: NightReport, matters: Iterable[Matter]) -> About:
    """Return what a notice of a night contains."""
    videos = {one.campaign or one.sheet: len(one.delivered) for one in report.sheets}
    return About(
        night=report.night,
        marks=frozenset(matter.mark for matter in matters),
        videos={name: number for name, number in videos.items() if number},
        sheets=frozenset(_mark(one.name) for one in report.sheets),
    )


def matters_of(
    report: NightReport,
    before: Sequence[NightReport] = (),
    *,
    board: str | None = None,
    place: str | None = None,
    reasons: Mapping[str, Sequence[str]] | None = None,
    price: CreditPrice | None = None,
) -> list[Matter]:
    """Return the action items; `before` has the earlier nights, newest first.

    `place` is the location of the sheets, `reasons` has the reasons of waiting rows by campaign.
    A parked run resumes by itself, so it becomes an item in its second night in a row.
    """
    found = []
    for sheet in report.sheets:
        kind = _kind(sheet)
        if kind is None:
            continue
        since = _since(sheet, kind, before) or report.night
        nights = days_of(since, report.night)
        if kind != "parked" or nights > 1:
            lines = (reasons or {}).get(sheet.campaign or "", ())
            matter = _matter(sheet, kind, lines, _said(sheet, kind, board, place, price))
            found.append(replace(matter, since=since, nights=nights))
    return sorted(found, key=lambda one: (ORDER.index(one.kind), -one.nights, one.sheet))


def is_worth(now: About, last: About | None, matters: Sequence[Matter], *, quiet: bool) -> bool:
    """Return whether to send a digest of a night; `last` is the previous notice.

    Yes for new videos, for new or settled action items, and for items that are due again. A quiet
    inbox gets no other digest.
    """
    if last is None:
        return bool(now.videos or now.marks) or not quiet
    again = last.night == now.night
    if now.videos and not (again and now.videos == last.videos):
        return True
    # A sheet that the run did not reach is not settled.
    gone = (mark.split(":") for mark in last.marks - now.marks)
    settled = any(kind != "set-aside" and sheet in now.sheets for kind, sheet, _ in gone)
    if now.marks - last.marks or settled:
        return True
    if any(_is_due_again(matter, last.night) for matter in matters):
        return True
    return not quiet and not again and bool(now.sheets)


def longest(matters: Iterable[Matter]) -> int:
    """Return the age of the oldest action item in nights; 0 without any."""
    lasting = (matter.nights for matter in matters if matter.kind != "set-aside")
    return max(lasting, default=0)


def steps(nights: int) -> int:
    """Return how often an item of this age was due again."""
    return sum(nights >= step for step in AGAIN) + max(0, (nights - AGAIN[-1]) // 7)


def _is_due_again(matter: Matter, told: str) -> bool:
    then = steps(days_of(matter.since, told))
    return matter.kind != "set-aside" and steps(matter.nights) > then


def days_of(since: str, until: str) -> int:
    """Return how many days there are from one date to another, with both."""
    return (date.fromisoformat(until) - date.fromisoformat(since)).days + 1


def needing_of(sheet: SheetReport) -> int:
    """Return how many rows of a sheet need attention."""
    return sum(sheet.rows.get(state, 0) for state in NEEDS_PERSON) or len(sheet.needing)


def _kind(sheet: SheetReport) -> Outcome | None:
    if sheet.outcome in ("invalid", "not-approved", "set-aside"):
        return sheet.outcome
    if sheet.outcome == "needs-person" or needing_of(sheet):
        # Also if nothing has changed since: it still waits.
        return "needs-person"
    return "parked" if sheet.outcome == "parked" else None


def _since(sheet: SheetReport, kind: Outcome, before: Sequence[NightReport]) -> str | None:
    """Return the first of the consecutive earlier nights with the same item, or None."""
    since = None
    for night in before:
        if night.skipped is not None or not night.sheets:
            continue
        then = next((one for one in night.sheets if one.name == sheet.name), None)
        if then is None or _kind(then) != kind or not _is_same(sheet, then):
            break
        since = night.night
    return since


def _is_same(sheet: SheetReport, then: SheetReport) -> bool:
    """Return whether an earlier night had part of the same item."""
    mine, theirs = {*sheet.needing, *sheet.problems}, {*then.needing, *then.problems}
    return not mine or not theirs or bool(mine & theirs)


def _matter(
    sheet: SheetReport,
    kind: Outcome,
    reasons: Sequence[str],
    said: tuple[str, str, str | None, str],
) -> Matter:
    told = sorted({*sheet.problems, *sheet.needing, f"{sheet.rows.get('total', 0)}"})
    if kind == "parked":
        told = []
    # The ledger has reasons for these rows, which say more than their ids.
    lines = reasons or sheet.problems or sheet.needing
    whole = max(len(lines), needing_of(sheet) if kind == "needs-person" else 0)
    title, button, link, command = said
    return Matter(
        mark=f"{kind}:{_mark(sheet.name)}:{_mark(*told)}",
        kind=kind,
        sheet=sheet.name,
        campaign=sheet.campaign,
        title=title,
        words=_words(sheet, kind),
        lines=tuple(_line(sheet, line, to_type=not link) for line in lines[:NAMED]),
        more=max(0, whole - NAMED) if lines else 0,
        button=button if link else None,
        link=link,
        command=None if link else command,
    )


def _mark(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]


def _words(sheet: SheetReport, kind: Outcome) -> str | None:
    """Return the reason, without what title, lines and button already say."""
    if sheet.unanswered is not None:
        return redact(sheet.unanswered)
    if kind == "invalid" and sheet.problems:
        return f"All of it is in {names_of(sheet.sheet)[1]}, next to the sheet."
    if sheet.words is None:
        return None
    words = redact(sheet.words).partition("; nothing was spent")[0]
    return words[:1].upper() + words[1:].rstrip(".") + "."


def _line(sheet: SheetReport, line: str, *, to_type: bool) -> str:
    """Return a problem without the name of its sheet, which is in the heading.

    The command is left out if there is a button.
    """
    said = redact(line)
    if not to_type:
        said = re.sub(r"[:;(][^:;(]*`callsheet .*$", "", said).rstrip()
    if said.startswith(f"{sheet.sheet}:"):
        return re.sub(r"^(\d+) ", r"line \1, ", said[len(sheet.sheet) + 1 :])
    return said.removeprefix(f"{sheet.sheet} ").removeprefix(f"{sheet.sheet}, ")


def _said(
    sheet: SheetReport,
    kind: Outcome,
    board: str | None,
    place: str | None,
    price: CreditPrice | None,
) -> tuple[str, str, str | None, str]:
    """Return the title, the label and link of the button, and the command without a board."""
    path = f"{place.rstrip('/')}/{sheet.sheet}" if place else sheet.sheet
    campaign, page = sheet.campaign or sheet.sheet, campaign_page(board, sheet.campaign)
    if kind == "needs-person":
        rows = needing_of(sheet)
        title = f"{count(rows or 1, 'video')} {'need' if rows > 1 else 'needs'} you"
        label = f"Decide on {count(rows, 'video')}" if rows else "See the remedy"
        attention = campaign_page(board, sheet.campaign, "attention")
        return title, label, attention or sheet.link, suggest("rows", campaign)
    if kind == "not-approved":
        videos = sheet.rows.get("total", 0)
        what = count(videos, "video") if videos else "A plan"
        costs = f" for {in_credits(sheet.asked, price)}" if sheet.asked is not None else ""
        title = f"{what}{costs} {'wait' if videos > 1 else 'waits'} for your approval"
        label, link = f"Review and approve{costs}", sheet.link or page
        return title, label, link, suggest_run(path, campaign)
    if kind == "parked":
        title, link = f"{campaign} makes no progress", page or sheet.link
        return title, "See its status", link, suggest("status", campaign)
    title = f"{sheet.sheet} is set aside until it changes"
    if kind == "invalid":
        problems = count(len(sheet.problems), "problem")
        title = f"{problems} in {sheet.sheet}" if sheet.problems else sheet.sheet
    return title, "See every problem", sheet.link, suggest("check", path)


# The content of a notice before it is rendered.


#: Kinds of notices: a digest, a night without news, a failed nightly run.
NoticeKind = Literal["digest", "quiet", "trouble", "client"]


@dataclass(frozen=True, kw_only=True)
class Matter:
    """Something that only a person can settle, with one button or command.

    `mark` stays the same until the item changes; `since` is the first of the consecutive nights
    with this item, `nights` the number of days since then, including this one.
    """

    mark: str
    kind: Outcome
    sheet: str
    campaign: str | None
    title: str
    words: str | None = None
    #: Problems with their cells, or rows with their reasons; `more` counts those left out.
    lines: tuple[str, ...] = ()
    more: int = 0
    button: str | None = None
    link: str | None = None
    command: str | None = None
    since: str = ""
    nights: int = 1


@dataclass(frozen=True, kw_only=True)
class CampaignFigures:
    """Status of a campaign; amounts in credits over all its runs, except `tonight`."""

    sheet: str
    campaign: str | None
    outcome: Outcome
    ready: int = 0
    total: int = 0
    needing: int = 0
    under_way: int = 0
    fresh: int = 0
    tonight: Decimal = Decimal(0)
    charged: Decimal = Decimal(0)
    reserved: Decimal = Decimal(0)
    budget: Decimal | None = None
    #: Forecast cost, including the rows that still wait.
    forecast: Decimal | None = None
    #: Cost per kept video, including takes that were not kept.
    per_kept: Decimal | None = None
    link: str | None = None
    #: Rows whose `deliver_by` has passed without a video, with that date.
    late: tuple[str, ...] = ()
    #: Rows whose videos this night deleted at the service, as `keep_at_service` says.
    deleted: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The display name."""
        return self.campaign or self.sheet

    @property
    def is_over(self) -> bool:
        """Whether the forecast exceeds the budget."""
        return None not in (self.forecast, self.budget) and self.forecast > self.budget  # type: ignore[operator]


@dataclass(frozen=True, kw_only=True)
class NewVideo:
    """A video of the night; `jpeg` is its picture, `part` the name of that in the email."""

    campaign: str
    row: str
    take: int
    title: str
    link: str | None = None
    part: str = ""
    jpeg: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Expiring:
    """Something that expires soon, and when (Unix seconds)."""

    words: str
    at: float
    link: str | None = None


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The content of a digest; `zone` is the time zone of its dates."""

    inbox: str
    night: date
    zone: str
    lines: tuple[CampaignFigures, ...] = ()
    matters: tuple[Matter, ...] = ()
    videos: tuple[NewVideo, ...] = ()
    #: Number of new videos that are not shown.
    more_videos: int = 0
    charged: Decimal = Decimal(0)
    expiring: tuple[Expiring, ...] = ()
    next_at: float | None = None
    board: str | None = None
    #: What a credit costs, where the settings say so.
    credit_price: CreditPrice | None = None


@dataclass(frozen=True, kw_only=True)
class Letter:
    """A rendered notice: HTML and text for emails, a few lines for chats.

    `pictures` are JPEGs by their names in `html`; `bare` is the HTML without pictures.
    """

    __pydantic_config__: ClassVar = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    subject: str
    html: str
    bare: str
    text: str
    short: str
    pictures: Mapping[str, bytes] = field(default_factory=dict, repr=False)


# Links to the board; None if its address is not set.


def campaign_page(board: str | None, campaign: str | None, page: str = "") -> str | None:
    """Return the address of a campaign or of one of its pages: `attention`, `videos`."""
    if not board or not campaign:
        return None
    return f"{board.rstrip('/')}/c/{_part(campaign)}" + (f"/{page}" if page else "")


def row_page(board: str | None, campaign: str, row: str) -> str | None:
    """Return the address of a row, with its video."""
    return campaign_page(board, campaign, f"rows/{_part(row)}")


def plan_page(board: str | None, plan: str) -> str | None:
    """Return the address of a plan that waits for approval."""
    return f"{board.rstrip('/')}/plans/{_part(plan)}" if board else None


def _part(text: str) -> str:
    return quote(text, safe="")
