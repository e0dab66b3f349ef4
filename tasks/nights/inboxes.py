"""Inboxes of sheets: where they are, when they are swept, and on what terms.

Where they are written down is in `nights_file`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from callsheet.tasks.errors import ConfigurationError

#: What an inbox may spend without asking: nothing, or up to its limits.
Approval = Literal["plan-only", "auto"]
#: Characters of an inbox's name that the ledger keeps.
LONGEST = 200


@dataclass(frozen=True, kw_only=True)
class Inbox:
    """An inbox of sheets, and what may be done with it while nobody looks.

    `name` is that of `nights.toml`, or the place itself. `place` is a folder, as a whole path, or
    `s3://bucket/prefix`. `per_night` and `per_sheet` are the credits that may be approved in a
    night, and of one sheet in it; `budget` is the most that a campaign may cost in its whole life.
    `max_wait` is in seconds, for the whole sweep.
    """

    name: str
    place: str
    cron: str | None = None
    timezone: str | None = None
    approval: Approval = "plan-only"
    per_night: Decimal | None = None
    per_sheet: Decimal | None = None
    budget: Decimal | None = None
    #: Make one video of a new campaign, and ask before the others.
    canary: bool = False
    max_wait: float | None = None
    #: Addresses of people, as apprise takes them; each may be `env:NAME` or `file:PATH`.
    notify: tuple[str, ...] = ()
    #: More addresses, by campaign: they hear of nothing else.
    notify_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Whether a night without news is kept quiet about.
    quiet: bool = True
    #: When the digest is sent, as `08:00`; None: at the end of the sweep.
    digest_at: str | None = None
    #: An address to be called at start, success and failure; may be `env:NAME` or `file:PATH`.
    ping: str | None = None
    #: Where the board is, for links.
    board: str | None = None
    #: The folder that paths in `notify` and `ping` are relative to.
    folder: Path = Path()

    @property
    def is_bucket(self) -> bool:
        """Whether it lies in S3."""
        return self.place.startswith("s3://")

    def check(self) -> Inbox:
        """Return it; raise ConfigurationError where it would spend without a limit."""
        if self.approval == "auto" and self.per_night is None:
            raise ConfigurationError(
                f"inbox {self.name} is to spend without asking, and nothing says how much a night",
                remedy='give per_night, or --approve-up-to N; or approval = "plan-only"',
            )
        return self


def with_terms(inbox: Inbox, **terms: Any) -> Inbox:
    """Return an inbox with what was typed in place of what is written; None is not typed."""
    return replace(inbox, **{name: value for name, value in terms.items() if value is not None})
