"""What the service answers, as far as we need it; all the rest is kept in `raw`."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from tasks.brief import Json


@dataclass(frozen=True, kw_only=True)
class Quote:
    """What a video would cost; `amount` is None when the answer cannot be read as credits."""

    amount: Decimal | None
    raw: Json = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Created:
    """A video that now exists; `poll_after` is a hint in seconds, as it was given."""

    video_id: str
    status: str | None
    poll_after: float | None
    raw: Json = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Video:
    """A video as it was seen; any word may be its status."""

    id: str
    status: str | None
    poll_after: float | None
    charged: Decimal | None
    raw: Json = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Started:
    """A render that was begun on a video that existed; `poll_after` as for Created."""

    video_id: str
    status: str | None
    poll_after: float | None
    raw: Json = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class ShareLink:
    """A public link to a film: whoever has it can see the film until it expires."""

    url: str = field(repr=False)
    raw: Json = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """A subscription; `secret` is there in the answer to its creation and never again."""

    id: str
    url: str | None
    events: tuple[str, ...]
    name: str | None
    is_active: bool | None
    secret: str | None = field(default=None, repr=False)
    raw: Json = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class SignedUrl:
    """An address that gives the film to whoever holds it, for 15 minutes: a secret."""

    url: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One request and how it went, for counting and measuring; holds nothing secret."""

    operation: str
    method: str
    path: str
    number: int
    status: int | None
    outcome: str
    seconds: float
    request_id: str | None

    def __str__(self) -> str:
        return (
            f"{self.operation} {self.method} {self.path} {self.status or '-'} {self.outcome} "
            f"attempt {self.number} {self.seconds * 1000:.0f} ms"
        )
