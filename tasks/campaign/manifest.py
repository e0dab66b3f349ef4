"""`manifest.json`: what the store knows of a campaign, and its form.

Written by every run and read after a lost ledger, possibly one of an earlier release or one that
somebody edited: a member that is odd counts as missing and costs nothing of the others, members
that are not known are left alone, and what is no manifest at all is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    PlainSerializer,
    StrictStr,
    ValidationError,
    WrapValidator,
)
from pydantic.types import StrictFloat, StrictInt

FORMAT = 1
NAME = "manifest.json"

T = TypeVar("T")
#: Credits: whole ones as integers.
Amount = StrictInt | StrictFloat


def _or_missing(value: Any, read: Any) -> Any:
    try:
        return read(value)
    except ValidationError:
        return None


#: A member that is None where what stands there is not what it should be.
Lenient = Annotated[T | None, WrapValidator(_or_missing)]


def _as_text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds")


class ManifestFile(BaseModel):
    """A delivered file: what it is, where it lies, and the digest and bytes it had there."""

    kind: StrictStr
    uri: StrictStr
    sha256: StrictStr
    bytes: StrictInt


class ManifestEarlier(BaseModel):
    """A take of another ledger: its brief, which attempt (0: not known), when it was sent."""

    digest: StrictStr
    nth: StrictInt
    sent_at: Amount
    video_id: StrictStr | None = None


class ManifestRow(BaseModel):
    """A row as `rows --json` has it, and what its key is made of.

    `sent_at` is when its request was, or may have been, sent (Unix seconds); with `to_be_sent` it
    was about to be. Where that is another attempt than the row's last one, `next_digest` and
    `next_nth` say which.
    """

    model_config = ConfigDict(extra="allow")

    row: StrictStr
    state: Lenient[StrictStr] = None
    reason: Lenient[StrictStr] = None
    take: Lenient[StrictInt] = None
    key: Lenient[StrictStr] = None
    video_id: Lenient[StrictStr] = None
    quoted: Lenient[Amount] = None
    reserved: Lenient[Amount] = None
    charged: Lenient[Amount] = None
    paid_before: Lenient[Amount] = None
    variance: Lenient[Amount] = None
    video_take: Lenient[StrictInt] = None
    deliveries: Lenient[list[ManifestFile]] = None
    review: Lenient[StrictStr] = None
    review_reason: Lenient[StrictStr] = None
    review_note: Lenient[StrictStr] = None
    reviewed_by: Lenient[StrictStr] = None
    checks: Lenient[dict[str, StrictStr]] = None
    operation: Lenient[StrictStr] = None
    digest: Lenient[StrictStr] = None
    nth: Lenient[StrictInt] = None
    take_quoted: Lenient[Amount] = None
    sent_at: Lenient[Amount] = None
    to_be_sent: Lenient[bool] = None
    next_digest: Lenient[StrictStr] = None
    next_nth: Lenient[StrictInt] = None
    #: Takes of another ledger that this one did not have.
    earlier: Lenient[list[ManifestEarlier]] = None


class ManifestSheet(BaseModel):
    """The sheet that a campaign was last run from."""

    address: Lenient[StrictStr] = None
    sha256: Lenient[StrictStr] = None


class ManifestEvent(BaseModel):
    """The last line of the campaign's history that a manifest knows of: number, Unix seconds."""

    id: StrictInt
    at: Amount


class ManifestCredits(BaseModel):
    """The campaign's figures, over all its runs, its budget, and what is left of that."""

    quoted: Lenient[Amount] = None
    reserved: Lenient[Amount] = None
    charged: Lenient[Amount] = None
    paid_before: Lenient[Amount] = None
    variance: Lenient[Amount] = None
    budget: Lenient[Amount] = None
    left: Lenient[Amount] = None


class Manifest(BaseModel):
    """All rows of a campaign, as one run left them at `made_at`."""

    model_config = ConfigDict(extra="allow")

    format: Lenient[StrictInt] = None
    campaign: StrictStr
    #: Whether its videos were made by a sandbox of our own.
    sandbox: Lenient[bool] = None
    sheet: Lenient[ManifestSheet] = None
    made_at: Annotated[Lenient[datetime], PlainSerializer(_as_text)] = None
    #: A ledger that has it is the one that wrote the manifest, and no older copy of that.
    last_event: Lenient[ManifestEvent] = None
    credits: Lenient[ManifestCredits] = None
    counts: Lenient[dict[str, StrictInt]] = None
    rows: Sequence[Lenient[ManifestRow]]

    @property
    def by_row(self) -> dict[str, ManifestRow]:
        """The rows that can be read, by their id."""
        return {line.row: line for line in self.rows if line is not None}

    def as_bytes(self) -> bytes:
        """Return the file."""
        return self.model_dump_json(indent=2).encode() + b"\n"


def read_manifest(content: bytes) -> Manifest | None:
    """Return the manifest in a file, or None where there is none in it."""
    try:
        return Manifest.model_validate_json(content)
    except ValidationError:
        return None
