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


def _about(words: str, **rules: Any) -> Any:
    """Describe a member: what it must be, in words and in rules."""
    return Field(description=words, **rules)


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
    nth: Annotated[
        Any,
        PlainValidator(_spans),
        _about('a number from 1, a span such as "3-5", or a list of them'),
    ] = ()
    every: Annotated[int | None, _about("a whole number from 1", ge=1)] = None
    chance: Annotated[Number | None, _about("a number from 0 to 1", ge=0, le=1)] = None
    seed: Annotated[int, _about("a whole number from 0", ge=0)] = 0
    per: Annotated[Literal["video"] | None, _about('"video"')] = None
    seconds: Annotated[Number, _about("a number of seconds from 0", ge=0)] = 0.0
    status: Annotated[int, _about("a status from 200 to 599", ge=200, le=599)] = 500
    code: Annotated[NonEmpty | None, _about("a word")] = None
    message: Annotated[NonEmpty | None, _about("a sentence")] = None
    retryable: Annotated[bool | None, _about("true or false")] = None
    html: Annotated[bool, _about("true or false")] = False
    retry_after: Annotated[
        Header | None, _about("seconds, or the text of the header as it is to be sent")
    ] = None
    retry_after_date: Annotated[Number | None, _about("seconds from now, sent as a date")] = None
    clock_skew: Annotated[Number | None, _about("seconds that the service's clock is ahead")] = None
    framing: Annotated[Framing, _about("length, chunked or close")] = "length"
    close: Annotated[bool, _about("true or false")] = False
    bytes: Annotated[int, _about("a whole number from 1", ge=1)] = 1
    location: Annotated[Header | None, _about("an address")] = None
    set: Annotated[dict[str, Any], _about("members and their values")] = {}
    remove: Annotated[list[NonEmpty], _about("a list of names of members")] = []

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
