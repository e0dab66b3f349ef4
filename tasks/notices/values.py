"""What a notice tells, before it is put into words: the values of this room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Literal

from callsheet.tasks.nights.values import Outcome

#: What a notice is: of a night, of a night that failed, of a night that did not come.
NoticeKind = Literal["digest", "trouble", "silence"]


@dataclass(frozen=True, kw_only=True)
class Matter:
    """Something that only a person can settle, with the one thing to press or to type.

    `mark` is the same as long as nothing about it has changed; `since` is the first of the nights
    in a row that have met it, `nights` how many days ago that was, this one included.
    """

    mark: str
    kind: Outcome
    sheet: str
    campaign: str | None
    title: str
    words: str | None = None
    #: Problems with their cells, or rows with their reasons; `more` were left out.
    lines: tuple[str, ...] = ()
    more: int = 0
    button: str | None = None
    link: str | None = None
    command: str | None = None
    since: str = ""
    nights: int = 1


@dataclass(frozen=True, kw_only=True)
class CampaignFigures:
    """How a sheet's campaign stands; amounts in credits, over all its runs but for `tonight`."""

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
    #: What all of it will have cost when the rows that wait are made, too.
    forecast: Decimal | None = None
    #: What a video that somebody kept has cost, with all that came to nothing.
    per_kept: Decimal | None = None
    asked: Decimal | None = None
    link: str | None = None

    @property
    def name(self) -> str:
        """What people call it."""
        return self.campaign or self.sheet

    @property
    def is_over(self) -> bool:
        """Whether what it will have cost is more than it may."""
        return None not in (self.forecast, self.budget) and self.forecast > self.budget  # type: ignore[operator]


@dataclass(frozen=True, kw_only=True)
class NewVideo:
    """A video of the night; `jpeg` is its picture for a mail, `part` what the mail calls that."""

    campaign: str
    row: str
    take: int
    title: str
    link: str | None = None
    part: str = ""
    jpeg: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Expiring:
    """Something that will be gone before long: what it is, and when (Unix seconds)."""

    words: str
    at: float
    link: str | None = None


@dataclass(frozen=True, kw_only=True)
class Contents:
    """All that a digest tells; `zone` is that of its dates."""

    inbox: str
    night: date
    zone: str
    lines: tuple[CampaignFigures, ...] = ()
    matters: tuple[Matter, ...] = ()
    videos: tuple[NewVideo, ...] = ()
    #: New videos beyond those shown.
    more_videos: int = 0
    charged: Decimal = Decimal(0)
    expiring: tuple[Expiring, ...] = ()
    next_at: float | None = None
    board: str | None = None


@dataclass(frozen=True, kw_only=True)
class Letter:
    """A notice in words: for mails as a page and as text, for chats in a few lines.

    `pictures` are JPEGs by the name that `html` has for them; `bare` is the page without any.
    """

    subject: str
    html: str
    bare: str
    text: str
    short: str
    pictures: Mapping[str, bytes] = field(default_factory=dict, repr=False)
