"""Planned faults: every kind, how entries are read, and which calls they strike."""

from __future__ import annotations

import json
import re
import time
import tomllib
import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, PlainValidator, TypeAdapter

ELSEWHERE = ("render", "webhook")


class PlannedFault:
    """A fault in the plan, how often its calls were seen and how often it struck."""

    def __init__(self, number: int, fault: Fault, said: object) -> None:
        assert isinstance(said, Mapping)
        self.number = number
        self.fault = fault
        self.said = dict(said)
        self.seen: Counter[str] = Counter()
        self.struck = 0

    def watches(self, on: str) -> bool:
        """Say whether it waits for calls of this name; `*` is every operation."""
        return self.fault.on == on or (self.fault.on == "*" and on not in ELSEWHERE)

    def counts(self, subject: str) -> int:
        """Count one call; return its number, or 0 when it is not struck."""
        counted = subject if self.fault.which.per_video else ""
        self.seen[counted] += 1
        call = self.seen[counted]
        return call if self.fault.which.holds(call, counted) else 0

    def shown(self) -> dict[str, Any]:
        """Show the entry as it was given, with its number and counts."""
        counts = {"calls": self.seen.total(), "struck": self.struck}
        return {"id": self.number, **self.said, **counts}


class Faults:
    """The faults of one sandbox. The log is a file, so that a crash does not forget its cause."""

    def __init__(self, log: Path) -> None:
        self.operations: Collection[str] = ()
        self._planned: list[PlannedFault] = []
        self._numbers = count(1)
        self._log = log

    def plan(self, entries: Sequence[object], source: str = "") -> list[dict[str, Any]]:
        """Add entries to the plan, all or none; raises FaultRefused naming the entry."""
        # One read before another is planned: a bad entry must leave nothing behind.
        read = [
            (read_fault(said, f"{source}fault {number}", self.operations), said)
            for number, said in enumerate(entries, start=1)
        ]
        added = [PlannedFault(next(self._numbers), fault, said) for fault, said in read]
        self._planned += added
        return [one.shown() for one in added]

    def clear(self, number: int | None = None) -> int:
        """Take one fault, or all of them, out of the plan; return how many went."""
        kept = [one for one in self._planned if number is not None and one.number != number]
        gone = len(self._planned) - len(kept)
        self._planned = kept
        return gone

    def listed(self) -> list[dict[str, Any]]:
        """Show the plan, in the order it was made."""
        return [one.shown() for one in self._planned]

    def log(self) -> list[dict[str, Any]]:
        """Give every strike there was, oldest first, of earlier runs too."""
        try:
            lines = self._log.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]

    @property
    def idle(self) -> bool:
        """Say whether nothing is planned at all."""
        return not self._planned

    def watches(self, on: str) -> bool:
        """Say whether any fault waits for calls of this name."""
        return any(one.watches(on) for one in self._planned)

    def strike(self, on: str, *, video: str | None = None, key: str | None = None) -> Fault | None:
        """Count one call and return the fault that strikes it, if one was planned.

        `on` is the operation, `render` or `webhook`; `video` and `key` say whose call it is. Where
        several faults strike, the one planned first wins; all of them count the call.
        """
        watching = [one for one in self._planned if one.watches(on)]
        calls = [(one, one.counts(video or key or "")) for one in watching]
        striking = next(((one, call) for one, call in calls if call), None)
        if striking is None:
            return None
        one, call = striking
        one.struck += 1
        self._write({"on": on, "call": call, "do": one.fault.do, "video": video, "key": key})
        return one.fault

    def _write(self, strike: dict[str, Any]) -> None:
        moment = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")
        entry = {"time": moment.replace("+00:00", "Z"), **strike}
        with self._log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(entry) + "\n")


# Owns the list of everything that can be made to go wrong, what each fault may be told, and the
# values of the plan: a fault, and which calls it strikes.
#
# `before` means that the service does not act, `after` that it acts in full first: what was
# reserved stays reserved. Kinds without either word act, and spoil the true answer.


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
    "drip-headers": FaultKind("sends headers and body in pieces", {"bytes": 1, "seconds": 0.05}),
    "close-idle": FaultKind("answers, then closes the connection without notice", {"seconds": 0.0}),
    # Another answer, without acting.
    "error-before": FaultKind("answers an error without acting", _ERROR),
    "status": FaultKind("answers the given status without acting", {**_ERROR, "status": NEEDED}),
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
    "not-json": FaultKind("acts, then answers text that is not JSON, labeled as JSON"),
    "shapeless": FaultKind("acts, then answers an envelope with nothing in it"),
    # The true answer, changed.
    "rewrite": FaultKind("acts, and changes members of its answer", {"set": {}, "remove": ()}),
    "restatus": FaultKind("acts, and answers with another status of success", {"status": 200}),
    "cut-body": FaultKind("acts, and closes halfway through the body", {"framing": "length"}),
    "reset-midway": FaultKind("acts, and resets the connection halfway through the body"),
    "truncated": FaultKind("acts, and answers half the body as a whole", {"framing": "length"}),
    "no-length": FaultKind("acts, and answers without Content-Length", {"close": False}),
    "gzip": FaultKind("acts, and compresses the body, even if the client did not ask"),
    "gzip-lie": FaultKind("acts, and labels the plain body as gzip"),
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
        "range-shifted": FaultKind("answers another range than the client asked for", {"bytes": 1}),
        "old-video": FaultKind("answers the video of the previous render, if there was one"),
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
    "reserialized": FaultKind("its body is serialized again after it was signed"),
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


# Owns reading the entries of a plan: strict, and every refusal a sentence naming the member.
#
# They come by the control door, or in a script, a file in TOML or JSON:
#
# [[faults]]
# on = "create"
# nth = 2
# do = "drop-after"


SPAN = re.compile(r"([0-9]{1,9})-([0-9]{1,9})", re.ASCII)
WHICH = ("nth", "every", "chance", "seed", "per")


class FaultRefused(Exception):
    """An entry that cannot be planned; the message says why in a sentence."""


def read_fault(said: object, where: str, operations: Collection[str]) -> Fault:
    """Turn one entry into a fault, or refuse it; `where` is how the sentence calls it."""
    if not isinstance(said, Mapping):
        raise FaultRefused(f"{where} must hold members such as on and do.")
    on = _one_of(said, "on", [*operations, "*", "render", "webhook"], where)
    do = _one_of(said, "do", kinds_on(on), where)
    takes = kinds_on(on)[do].takes
    members: dict[str, Any] = {}
    for name, value in said.items():
        if name in takes:
            members[name] = _checked(name, value, where)
        elif name not in ("on", "do", *WHICH):
            allowed = ", ".join(takes) or "no members of its own"
            raise FaultRefused(f'{where}: "{name}" says nothing to {do}, which takes {allowed}.')
    for name, default in takes.items():
        if name not in members and default is NEEDED:
            raise FaultRefused(f'{where}: {do} needs "{name}", {MEMBERS[name][0]}.')
    return Fault(on=on, do=do, which=_which(said, where), **{**takes, **members})


def _one_of(said: Mapping[str, Any], name: str, known: Collection[str], where: str) -> str:
    value = said.get(name)
    if isinstance(value, str) and value in known:
        return value
    trouble = f"cannot be {_short(value)}" if name in said else "is missing"
    raise FaultRefused(f'{where}: "{name}" {trouble}; it is one of {", ".join(known)}.')


def _which(said: Mapping[str, Any], where: str) -> Which:
    given = {name: _checked(name, said[name], where) for name in WHICH if name in said}
    per_video = given.pop("per", None) is not None
    return Which(**given, per_video=per_video)


def _checked(name: str, value: object, where: str) -> Any:
    try:
        return READERS[name].validate_python(value, strict=True)
    except ValueError:
        trouble = f'{where}: "{name}" must be {MEMBERS[name][0]}; it is {_short(value)}.'
        raise FaultRefused(trouble) from None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def read_script(path: Path) -> list[object]:
    """Read the entries of a script; raises FaultRefused when it is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FaultRefused(f"The fault script {path} cannot be read: {why}.") from error
    read = json.loads if path.suffix.lower() == ".json" else tomllib.loads
    try:
        said = read(text)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if read is json.loads else "TOML"
        raise FaultRefused(f"The fault script {path} is not {kind}: {error}.") from error
    entries = said.get("faults") if isinstance(said, dict) and set(said) <= {"faults"} else said
    if not isinstance(entries, list):
        msg = f'The fault script {path} must hold a list called "faults", and nothing beside it.'
        raise FaultRefused(msg)
    return entries


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


Whole = Annotated[int, Field(ge=1, le=10**9)]
Number = Annotated[float, Field(allow_inf_nan=False)]
NonEmpty = Annotated[str, Field(min_length=1)]
Header = Annotated[NonEmpty | int | Number, AfterValidator(_header)]

#: What each member must be, in words and as a type that is read strictly.
MEMBERS: Mapping[str, tuple[str, Any]] = {
    "nth": (
        'a number from 1, a span such as "3-5", or a list of them',
        Annotated[Any, PlainValidator(_spans)],
    ),
    "every": ("a whole number from 1", Whole),
    "chance": ("a number from 0 to 1", Annotated[Number, Field(ge=0, le=1)]),
    "seed": ("a whole number from 0", Annotated[int, Field(ge=0, le=10**9)]),
    "per": ('"video"', Literal["video"]),
    "seconds": ("a number of seconds from 0", Annotated[Number, Field(ge=0)]),
    "status": ("a status from 200 to 599", Annotated[int, Field(ge=200, le=599)]),
    "code": ("a word", NonEmpty),
    "message": ("a sentence", NonEmpty),
    "retryable": ("true or false", bool),
    "html": ("true or false", bool),
    "retry_after": ("seconds, or the text of the header as it is to be sent", Header),
    "retry_after_date": ("seconds from now, sent as a date", Number),
    "clock_skew": ("seconds that the service's clock is ahead", Number),
    "close": ("true or false", bool),
    "framing": ("length, chunked or close", Framing),
    "bytes": ("a whole number from 1", Whole),
    "location": ("an address", Header),
    "set": ("members and their values", dict[str, Any]),
    "remove": ("a list of names of members", list[NonEmpty]),
}
READERS = {name: TypeAdapter[Any](kind) for name, (_, kind) in MEMBERS.items()}
