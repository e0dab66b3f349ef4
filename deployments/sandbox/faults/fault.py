"""One planned fault, as an entry of a plan describes it."""

from __future__ import annotations

import re
import zlib
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
)

SPAN = re.compile(r"([0-9]{1,9})-([0-9]{1,9})", re.ASCII)
Framing = Literal["length", "chunked", "close"]


def _spans(value: object) -> tuple[tuple[int, int], ...]:
    parts = value if isinstance(value, list) and value else [value]
    return tuple(_span(part) for part in parts)


def _span(value: object) -> tuple[int, int]:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value, value
    found = SPAN.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(value)
    first, last = int(found[1]), int(found[2])
    if not 1 <= first <= last:
        raise ValueError(value)
    return first, last


def _header(value: object) -> str:
    text = str(value)
    if not (text.isascii() and text.isprintable()):
        raise ValueError(value)
    return text


Number = Annotated[float, Field(allow_inf_nan=False)]
NonEmpty = Annotated[str, StringConstraints(min_length=1)]
Header = Annotated[NonEmpty | int | Number, AfterValidator(_header)]


class Fault(BaseModel):
    """One planned fault: `on` what it happens, `do` what goes wrong, which calls, and how.

    `on` is the name of an operation, `*` for any of them, `render` or `webhook`. Calls are counted
    from 1 since it was planned; what is said of them must hold together, and all are struck when
    nothing is. `nth` holds spans, both ends included. With `per` each video is counted by itself;
    a create, which has no video yet, is told by its idempotency key. Times are in seconds of the
    real clock.
    """

    model_config = ConfigDict(strict=True, frozen=True)

    on: str
    do: str
    nth: Annotated[Any, PlainValidator(_spans)] = Field(
        (), description='a number from 1, a span such as "3-5", or a list of them'
    )
    every: int | None = Field(None, ge=1, description="a whole number from 1")
    chance: Number | None = Field(None, ge=0, le=1, description="a number from 0 to 1")
    seed: int = Field(0, ge=0, description="a whole number from 0")
    per: Literal["video"] | None = Field(None, description='"video"')
    seconds: Number = Field(0.0, ge=0, description="a number of seconds from 0")
    status: int = Field(500, ge=200, le=599, description="a status from 200 to 599")
    code: NonEmpty | None = Field(None, description="a word")
    message: NonEmpty | None = Field(None, description="a sentence")
    retryable: bool | None = Field(None, description="true or false")
    html: bool = Field(False, description="true or false")
    retry_after: Header | None = Field(
        None, description="seconds, or the text of the header as it is to be sent"
    )
    retry_after_date: Number | None = Field(None, description="seconds from now, sent as a date")
    clock_skew: Number | None = Field(None, description="seconds that the service's clock is ahead")
    framing: Framing = Field("length", description="length, chunked or close")
    close: bool = Field(False, description="true or false")
    bytes: int = Field(1, ge=1, description="a whole number from 1")
    location: Header | None = Field(None, description="an address")
    set: dict[str, Any] = Field({}, description="members and their values")
    remove: list[NonEmpty] = Field([], description="a list of names of members")

    def strikes(self, call: int, subject: str) -> bool:
        """Say whether this call is struck; the same seed gives the same answers every time."""
        if self.nth and not any(first <= call <= last for first, last in self.nth):
            return False
        if self.every is not None and call % self.every:
            return False
        if self.chance is None:
            return True
        drawn = zlib.crc32(f"{self.seed}:{subject}:{call}".encode()) / 0x1_0000_0000
        return drawn < self.chance
