"""The brief: what a row asks for, in canonical form, so that its digest is its identity.

Owns canonical JSON and the digest. Knows no sheet format, no service and no ledger.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

Json = Any
CaptionFormat = Literal["srt", "vtt"]

#: What a row asks for when it does not say: `POST /videos`. It alone takes an idempotency key.
CREATE = "create"


@dataclass(frozen=True, kw_only=True)
class Brief:
    """One row, validated.

    `request` is the body of the operation, for `create` without `idempotency_key` and
    `start_generation`.
    `line` is the 1-based line (or spreadsheet row) it begins on; `cells` are the sheet's own
    headers and texts, in order, for the status sheet. Neither is part of its identity.
    """

    row: str
    request: Mapping[str, Json]
    operation: str = CREATE
    captions: tuple[CaptionFormat, ...] = ("srt", "vtt")
    enabled: bool = True
    priority: int = 0
    max_credits: Decimal | None = None
    tags: tuple[str, ...] = ()
    cost_center: str | None = None
    notes: str | None = None
    line: int = 0
    cells: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def digest(self) -> str:
        """The sha256 (hex) of what is asked of the service, and of nothing else."""
        return digest_of(self.operation, self.request)

    def asked(self) -> Mapping[str, Json]:
        """Return what the row asks of the service, as a row of the ledger does."""
        return self.request

    @property
    def title(self) -> str:
        """A few words for people: the title, the topic, or the row's id."""
        return str(self.request.get("title") or self.request.get("topic") or self.row)


def digest_of(operation: str, request: Mapping[str, Json]) -> str:
    """Return the sha256 (hex) of an operation and its canonical request."""
    return hashlib.sha256(canonical_json({"operation": operation, "request": request})).hexdigest()


def canonical_json(value: Json) -> bytes:
    """Return `value` as UTF-8 JSON that is the same for the same meaning.

    Keys sorted, text in NFC with LF line ends, whole floats as integers: saving a sheet on
    another system must not change a byte. Raises ValueError for NaN and infinities.
    """
    return json.dumps(
        _canonical(value),
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":"),
        allow_nan=False,
    ).encode()


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
