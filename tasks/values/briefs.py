"""Briefs: what a row asks for, its digest, its idempotency key, and the sheet it comes from.

Owns canonical JSON and the digest. Knows no sheet format, no service and no ledger.
"""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, get_args

from callsheet.tasks.runtime.redact import one_line, unsigned

Json = Any
CaptionFormat = Literal["srt", "vtt"]
#: What becomes of rows that a workbook hides, or that a filter leaves out of it.
HiddenRows = Literal["skip", "read"]

#: The header under which a row that a matrix made has the id of the row it was made from. Left out
#: when a status sheet is read again, as all that begin `cs_`.
VARIANT_OF = "cs_variant_of"

#: What a row asks for when it does not say: `POST /videos`. It alone takes an idempotency key.
CREATE = "create"


@dataclass(frozen=True, kw_only=True, slots=True)
class Brief:
    """One row, validated.

    `request` is the body of the operation, for `create` without `idempotency_key` and
    `start_generation`.
    It is not made before `deliver_after` and late after `deliver_by` (Unix seconds); `waits` says
    that the first was still to come when the sheet was read.
    `line` is the 1-based line (or spreadsheet row) it begins on; `cells` are the sheet's own
    headers and texts, in order, for the status sheet. Neither is part of its identity.
    """

    row: str
    #: The id that the row had before.
    was: str | None = None
    request: Mapping[str, Json]
    operation: str = CREATE
    captions: tuple[CaptionFormat, ...] = ("srt", "vtt")
    enabled: bool = True
    priority: int = 0
    max_credits: Decimal | None = None
    tags: tuple[str, ...] = ()
    cost_center: str | None = None
    notes: str | None = None
    #: A video that was made elsewhere, which the row takes over.
    video_id: str | None = None
    #: What its files are called, where the sheet or the profile says so (`names`).
    name: str | None = None
    #: Where its files are copied to: a place, and what they are called there.
    copies: tuple[tuple[str, str], ...] = ()
    deliver_after: float | None = None
    deliver_by: float | None = None
    waits: bool = False
    line: int = 0
    cells: Iterable[tuple[str, str]] = field(default=(), repr=False)
    _digest: str | None = field(default=None, init=False, repr=False, compare=False)
    _wishes: str | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def digest(self) -> str:
        """The sha256 (hex) of what is asked of the service, and of nothing else."""
        if self._digest is None:
            # Worked out once: it is asked for by every step of a run.
            object.__setattr__(self, "_digest", digest_of(self.operation, self.request))
        assert self._digest is not None
        return self._digest

    @property
    def wishes(self) -> str:
        """A digest (hex) of what is Callsheet's own about the row: all but where it stands."""
        if self._wishes is None:
            object.__setattr__(self, "_wishes", _digest_of_wishes(self))
        assert self._wishes is not None
        return self._wishes

    @property
    def variant_of(self) -> str | None:
        """The id of the row that a matrix made it from; None for a row of its own."""
        return variant_of(self.cells)

    @property
    def brand(self) -> str | None:
        """The brand that the sheet names for it."""
        return brand_of(self.cells)

    @property
    def earlier_id(self) -> str | None:
        """An id that the row may have had: its `was`, or the row that a matrix made it from."""
        return self.was or self.variant_of

    def asked(self) -> Mapping[str, Json]:
        """Return what the row asks of the service, as a row of the ledger does."""
        return self.request

    @property
    def title(self) -> str:
        """A few words for people: the title, the topic, or the row's id."""
        return one_line(str(self.request.get("title") or self.request.get("topic") or self.row))


def brand_of(cells: Iterable[tuple[str, str]]) -> str | None:
    """Return the brand that a row names in its column `brand` or `x_brand`."""
    found = {header.strip().lower(): text.strip() for header, text in cells}
    return found.get("brand") or found.get("x_brand") or None


def variant_of(cells: Iterable[Sequence[str]]) -> str | None:
    """Return the id of the row that a matrix made a row from, by the row's cells."""
    return next((text for header, text in cells if header == VARIANT_OF and text), None)


def digest_of(operation: str, request: Mapping[str, Json]) -> str:
    """Return the sha256 (hex) of an operation and its canonical request."""
    return hashlib.sha256(canonical_json({"operation": operation, "request": request})).hexdigest()


#: What may change without a new video: all but the identity, the request and the place of a row.
WISHES = tuple(
    one.name
    for one in fields(Brief)
    if one.init
    and one.name not in ("row", "was", "operation", "request", "video_id", "waits", "line")
)
_said = attrgetter(*(name for name in WISHES if name != "cells"))


def _digest_of_wishes(brief: Brief) -> str:
    texts = (text for cell in brief.cells for text in cell)
    said = "\0".join((repr(_said(brief)), *texts))
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def canonical_json(value: Json) -> bytes:
    """Return `value` as UTF-8 JSON that is the same for the same meaning.

    Keys sorted, text in NFC with LF line ends, whole floats as integers: saving a sheet on
    another system must not change a byte. Raises ValueError for NaN and infinities.
    """
    try:
        text = _JSON.encode(value)
    except TypeError:
        text = None  # Mappings and keys that JSON does not know by themselves.
    if text is None or not _is_canonical(text):
        text = _JSON.encode(_canonical(value))
    return text.encode()


_JSON = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _is_canonical(text: str) -> bool:
    """Whether nothing in a text can have another form: no whole float, old line end, or accent."""
    return text.isascii() and not (".0" in text or "e+" in text or "\\r" in text)


def _canonical(value: Json) -> Json:
    if isinstance(value, str):
        return canonical_text(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {canonical_text(str(key)): _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return value


def canonical_text(text: str) -> str:
    """Return `text` in NFC with LF line ends."""
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


# The idempotency key of a take, and the bytes it stands for.
#
# A key is a pure function, so the same wanted video has the same key from any machine, at any
# time, with or without the ledger. `cs1` names the recipe; changing it means a second charge.


RECIPE = "cs1"
#: Stands for the campaign in the key of a video that was typed by hand and belongs to none.
DIRECT = "callsheet video create"


def idempotency_key(*, campaign: str, row: str, operation: str, digest: str, nth: int) -> str:
    """Return the key of the `nth` paid attempt (from 1) at one brief: 44 of [a-z0-9_].

    `nth` counts attempts at this very brief and not at the row: a changed row starts at 1 again,
    so that its key can be derived from the sheet alone, should the ledger be lost.
    """
    identity = canonical_json([campaign, row, operation, digest, nth])
    text = base64.b32encode(hashlib.sha256(identity).digest()).decode().lower()
    return f"{RECIPE}_{text[:40]}"


def frozen_body(request: Mapping[str, Json], *, key: str | None, operation: str = CREATE) -> bytes:
    """Return the request body of a take: sent as it is, never made again from a sheet.

    Without a `key`, which a video always has, it can be sent only once.
    """
    starts = {"start_generation": True} if operation == CREATE else {}
    return canonical_json({**request, **starts, **({"idempotency_key": key} if key else {})})


# Where a sheet comes from: what tells it from another of the same name.
#
# Reads no file and asks nothing.


@dataclass(frozen=True, kw_only=True, slots=True)
class SheetOrigin:
    """A whole path or an address, without what signs it, and the worksheet of a workbook."""

    place: str
    worksheet: str | None = None

    @property
    def digest(self) -> str:
        """The sha256 (hex) by which it is found again."""
        return hashlib.sha256(canonical_json([self.place, self.worksheet])).hexdigest()

    def __str__(self) -> str:
        return self.place if self.worksheet is None else f"{self.place} ({self.worksheet})"


def origin_of(address: str | None, worksheet: str | None = None) -> SheetOrigin | None:
    """Return where a sheet comes from; None for standard input, which says nothing of that."""
    if address is None or address == "-":
        return None
    place = unsigned(address) if "://" in address else str(Path(address).expanduser().resolve())
    return SheetOrigin(place=place, worksheet=worksheet)


# What a video is checked for before anybody looks at it; `tasks.store.checks` says how.


Check = Literal["black", "frozen", "silence", "length", "captions", "ai_mark"]
CHECKS: tuple[Check, ...] = get_args(Check)
#: Whether a C2PA manifest is in the file of a video, which says how it was made.
AiMark = Literal["found", "none"]
OK = "ok"
