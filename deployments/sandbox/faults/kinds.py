"""Owns the list of everything that can be made to go wrong, what each fault may be told, and the
values of the plan: a fault, and which calls it strikes.

`before` means that the service does not act, `after` that it acts in full first: what was
reserved stays reserved. Kinds without either word act, and spoil the true answer.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Framing = Literal["length", "chunked", "close"]


@dataclass(frozen=True, kw_only=True)
class Which:
    """Which calls a fault strikes, counted from 1 since it was planned; all when nothing is said.

    What is said must hold together. `nth` holds spans, both ends included. With `per_video` each
    video is counted by itself; a create, which has no video yet, is told by its idempotency key.
    """

    nth: tuple[tuple[int, int], ...] = ()
    every: int | None = None
    chance: float | None = None
    seed: int = 0
    per_video: bool = False

    def holds(self, call: int, subject: str) -> bool:
        """Say whether this call is struck; the same seed gives the same answers every time."""
        if self.nth and not any(first <= call <= last for first, last in self.nth):
            return False
        if self.every is not None and call % self.every:
            return False
        if self.chance is None:
            return True
        drawn = zlib.crc32(f"{self.seed}:{subject}:{call}".encode()) / 0x1_0000_0000
        return drawn < self.chance


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One planned fault: `on` what it happens, `do` what goes wrong, and how.

    `on` is the name of an operation, `*` for any of them, `render` or `webhook`; `do` and the
    members it takes are in `kinds`. Times are in seconds of the real clock.
    """

    on: str
    do: str
    which: Which = field(default_factory=Which)
    seconds: float = 0.0
    status: int = 500
    code: str | None = None
    message: str | None = None
    retryable: bool | None = None
    html: bool = False
    retry_after: str | None = None
    retry_after_date: float | None = None
    clock_skew: float | None = None
    framing: Framing = "length"
    close: bool = False
    bytes: int = 1
    location: str | None = None
    set: Mapping[str, Any] = field(default_factory=dict)
    remove: Sequence[str] = ()


class _Needed:
    """Stands where a member has no default and must be given."""

    def __repr__(self) -> str:
        return "needed"


NEEDED: Final = _Needed()


@dataclass(frozen=True)
class FaultKind:
    """What a fault does, in a sentence, and the members it takes with their defaults."""

    about: str
    takes: Mapping[str, Any] = field(default_factory=dict)


_WORDS = {"code": None, "message": None, "retryable": None}
_RETRY_AFTER = {"retry_after": None, "retry_after_date": None, "clock_skew": None}
_ERROR = {"status": 500, "html": False, **_WORDS, **_RETRY_AFTER}

#: On every operation.
HTTP: Mapping[str, FaultKind] = {
    # The connection.
    "drop-before": FaultKind("closes the connection without acting and without an answer"),
    "drop-after": FaultKind("acts, then closes the connection without an answer"),
    "reset-before": FaultKind("resets the connection (TCP RST) without acting"),
    "reset-after": FaultKind("acts, then resets the connection (TCP RST) without an answer"),
    "hang-before": FaultKind("never acts, never answers, until the client leaves"),
    "hang": FaultKind("acts, then never answers, until the client leaves"),
    "crash-before": FaultKind("ends the sandbox at once, as SIGKILL does, without acting"),
    "crash-after": FaultKind("acts, then ends the sandbox at once, as SIGKILL does"),
    "slow-before": FaultKind("waits, then acts and answers", {"seconds": 1.0}),
    "slow": FaultKind("acts, waits, then answers", {"seconds": 1.0}),
    "drip": FaultKind("sends the body a few bytes at a time", {"bytes": 1, "seconds": 0.05}),
    "drip-headers": FaultKind("sends the headers so, and the body", {"bytes": 1, "seconds": 0.05}),
    "close-idle": FaultKind("answers, then closes the connection unannounced", {"seconds": 0.0}),
    # Another answer, without acting.
    "error-before": FaultKind("answers an error without acting", _ERROR),
    "status": FaultKind("answers the status given without acting", {**_ERROR, "status": NEEDED}),
    "unauthorized": FaultKind("answers 401 without acting, as for a revoked key", _WORDS),
    "no-credits": FaultKind("answers 402 without acting", _WORDS),
    "forbidden": FaultKind("answers 403 without acting, as for a missing scope", _WORDS),
    "conflict": FaultKind("answers 409 without acting", _WORDS),
    "limited": FaultKind("answers 429 without acting", {**_WORDS, **_RETRY_AFTER}),
    "redirect": FaultKind("answers 307 to another host without acting", {"location": None}),
    # Another answer, after acting.
    "error-after": FaultKind("acts, then answers an error", _ERROR),
    "html": FaultKind("acts, then answers a proxy's HTML page", {"status": 200}),
    "xml": FaultKind("acts, then answers a storage service's XML error", {"status": 200}),
    "empty": FaultKind("acts, then answers without a body"),
    "not-json": FaultKind("acts, then answers words that are not JSON, called JSON"),
    "shapeless": FaultKind("acts, then answers an envelope with nothing in it"),
    # The true answer, changed.
    "rewrite": FaultKind("acts, and changes members of what it answers", {"set": {}, "remove": ()}),
    "restatus": FaultKind("acts, and answers with another status of success", {"status": 200}),
    "cut-body": FaultKind("acts, and closes half way through the body", {"framing": "length"}),
    "reset-midway": FaultKind("acts, and resets half way through the body"),
    "truncated": FaultKind("acts, and cleanly answers half the body", {"framing": "length"}),
    "no-length": FaultKind("acts, and answers without Content-Length", {"close": False}),
    "gzip": FaultKind("acts, and compresses the body, asked for or not"),
    "gzip-lie": FaultKind("acts, and calls the plain body gzip"),
}
#: On one operation alone.
ALONE: Mapping[str, Mapping[str, FaultKind]] = {
    "create": {
        "forget-key": FaultKind(
            "forgets the idempotency key, then acts: a second video, a second charge"
        )
    },
    "captions": {"wrong-format": FaultKind("answers VTT for SRT and SRT for VTT")},
    "file": {
        "expired": FaultKind("answers 403, as for an address that has expired"),
        "corrupt": FaultKind("damages bytes in the middle and keeps the length", {"bytes": 16}),
        "no-moov": FaultKind("answers a video of the right length that no player opens"),
        "range-ignored": FaultKind("answers the whole video to a Range request"),
        "range-shifted": FaultKind("answers another part than the one asked for", {"bytes": 1}),
        "old-video": FaultKind("answers the video of the render before, where there was one"),
        "etag-changed": FaultKind("answers with another ETag"),
    },
}
#: On a render, whatever asked for it.
RENDER: Mapping[str, FaultKind] = {
    "fail": FaultKind("the render fails and its credits are released", {"message": None}),
    "never": FaultKind("the render never ends"),
    "slow": FaultKind("the render takes longer", {"seconds": 60.0}),
    "corrupt": FaultKind("the render ends with a video that cannot be played"),
}
#: On the delivery of an event.
WEBHOOK: Mapping[str, FaultKind] = {
    "missing": FaultKind("it is never sent"),
    "doubled": FaultKind("it is sent twice"),
    "late": FaultKind("it is sent late", {"seconds": 60.0}),
    "forged": FaultKind("a copy signed with another secret is sent first"),
    "replayed": FaultKind("the same body is sent again under a new event id"),
    "reserialized": FaultKind("its body is written anew after it was signed"),
    "unsigned": FaultKind("it is sent without a signature"),
}


def kinds_on(on: str) -> Mapping[str, FaultKind]:
    """Give every kind that can strike there."""
    if on == "render":
        return RENDER
    if on == "webhook":
        return WEBHOOK
    return {**HTTP, **ALONE.get(on, {})}


def listed_kinds() -> list[dict[str, Any]]:
    """Show the whole list, as JSON can hold it."""
    places = {"*": HTTP, **ALONE, "render": RENDER, "webhook": WEBHOOK}
    return [
        {"on": on, "do": do, "about": kind.about, "takes": list(kind.takes)}
        for on, kinds in places.items()
        for do, kind in kinds.items()
    ]
