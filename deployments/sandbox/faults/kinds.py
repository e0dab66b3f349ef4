"""Owns the list of everything that can be made to go wrong, and what each fault may be told.

`before` means that the service does not act, `after` that it acts in full first: what was
reserved stays reserved. Kinds without either word act, and spoil the true answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final


class _Needed:
    """Stands where a member has no default and must be given."""

    def __repr__(self) -> str:
        return "needed"


NEEDED: Final = _Needed()


@dataclass(frozen=True)
class Kind:
    """What a fault does, in a sentence, and the members it takes with their defaults."""

    about: str
    takes: Mapping[str, Any] = field(default_factory=dict)


_WORDS = {"code": None, "message": None, "retryable": None}
_RETRY_AFTER = {"retry_after": None, "retry_after_date": None, "clock_skew": None}
_ERROR = {"status": 500, "html": False, **_WORDS, **_RETRY_AFTER}

#: On every operation.
HTTP: Mapping[str, Kind] = {
    # The connection.
    "drop-before": Kind("closes the connection without acting and without an answer"),
    "drop-after": Kind("acts, then closes the connection without an answer"),
    "reset-before": Kind("resets the connection (TCP RST) without acting"),
    "reset-after": Kind("acts, then resets the connection (TCP RST) without an answer"),
    "hang-before": Kind("never acts, never answers, until the client leaves"),
    "hang": Kind("acts, then never answers, until the client leaves"),
    "crash-before": Kind("ends the sandbox at once, as SIGKILL does, without acting"),
    "crash-after": Kind("acts, then ends the sandbox at once, as SIGKILL does"),
    "slow-before": Kind("waits, then acts and answers", {"seconds": 1.0}),
    "slow": Kind("acts, waits, then answers", {"seconds": 1.0}),
    "drip": Kind("sends the body a few bytes at a time", {"bytes": 1, "seconds": 0.05}),
    "drip-headers": Kind("sends the headers so, and the body", {"bytes": 1, "seconds": 0.05}),
    "close-idle": Kind("answers, then closes the connection unannounced", {"seconds": 0.0}),
    # Another answer, without acting.
    "error-before": Kind("answers an error without acting", _ERROR),
    "status": Kind("answers the status given without acting", {**_ERROR, "status": NEEDED}),
    "unauthorized": Kind("answers 401 without acting, as for a revoked key", _WORDS),
    "no-credits": Kind("answers 402 without acting", _WORDS),
    "forbidden": Kind("answers 403 without acting, as for a missing scope", _WORDS),
    "conflict": Kind("answers 409 without acting", _WORDS),
    "limited": Kind("answers 429 without acting", {**_WORDS, **_RETRY_AFTER}),
    "redirect": Kind("answers 307 to another host without acting", {"location": None}),
    # Another answer, after acting.
    "error-after": Kind("acts, then answers an error", _ERROR),
    "html": Kind("acts, then answers a proxy's HTML page", {"status": 200}),
    "xml": Kind("acts, then answers a storage service's XML error", {"status": 200}),
    "empty": Kind("acts, then answers without a body"),
    "not-json": Kind("acts, then answers words that are not JSON, called JSON"),
    "shapeless": Kind("acts, then answers an envelope with nothing in it"),
    # The true answer, changed.
    "rewrite": Kind("acts, and changes members of what it answers", {"set": {}, "remove": ()}),
    "restatus": Kind("acts, and answers with another status of success", {"status": 200}),
    "cut-body": Kind("acts, and closes half way through the body", {"framing": "length"}),
    "reset-midway": Kind("acts, and resets half way through the body"),
    "truncated": Kind("acts, and cleanly answers half the body", {"framing": "length"}),
    "no-length": Kind("acts, and answers without Content-Length", {"close": False}),
    "gzip": Kind("acts, and compresses the body, asked for or not"),
    "gzip-lie": Kind("acts, and calls the plain body gzip"),
}
#: On one operation alone.
ALONE: Mapping[str, Mapping[str, Kind]] = {
    "create": {
        "forget-key": Kind(
            "forgets the idempotency key, then acts: a second video, a second charge"
        )
    },
    "captions": {"wrong-format": Kind("answers VTT for SRT and SRT for VTT")},
    "file": {
        "expired": Kind("answers 403, as for an address that has expired"),
        "corrupt": Kind("damages bytes in the middle and keeps the length", {"bytes": 16}),
        "no-moov": Kind("answers a film of the right length that no player opens"),
        "range-ignored": Kind("answers the whole film to a Range request"),
        "range-shifted": Kind("answers another part than the one asked for", {"bytes": 1}),
        "old-film": Kind("answers the film of the render before, where there was one"),
        "etag-changed": Kind("answers with another ETag"),
    },
}
#: On a render, whatever asked for it.
RENDER: Mapping[str, Kind] = {
    "fail": Kind("the render fails and its credits are released", {"message": None}),
    "never": Kind("the render never ends"),
    "slow": Kind("the render takes longer", {"seconds": 60.0}),
    "corrupt": Kind("the render ends with a film that cannot be played"),
}
#: On the delivery of an event.
WEBHOOK: Mapping[str, Kind] = {
    "missing": Kind("it is never sent"),
    "doubled": Kind("it is sent twice"),
    "late": Kind("it is sent late", {"seconds": 60.0}),
    "forged": Kind("a copy signed with another secret is sent first"),
    "replayed": Kind("the same body is sent again under a new event id"),
    "reserialized": Kind("its body is written anew after it was signed"),
    "unsigned": Kind("it is sent without a signature"),
}


def kinds_on(on: str) -> Mapping[str, Kind]:
    """Give every kind that can strike there."""
    if on == "render":
        return RENDER
    if on == "webhook":
        return WEBHOOK
    return {**HTTP, **ALONE.get(on, {})}


def listed() -> list[dict[str, Any]]:
    """Show the whole list, as JSON can hold it."""
    places = {"*": HTTP, **ALONE, "render": RENDER, "webhook": WEBHOOK}
    return [
        {"on": on, "do": do, "about": kind.about, "takes": list(kind.takes)}
        for on, kinds in places.items()
        for do, kind in kinds.items()
    ]
