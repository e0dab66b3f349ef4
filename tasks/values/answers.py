"""Members of answers: how amounts and moments stand in the JSON of every door."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from callsheet.tasks.values.amounts import as_number

#: An amount of credits, or of money: a number in JSON, an int where it is whole.
Credits = Annotated[
    Decimal,
    PlainSerializer(as_number, return_type=int | float),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "number"}]}),
]


def iso(at: float) -> str:
    """Return a moment as `2026-11-22T14:48:20Z`, with thousandths where it has them."""
    found = datetime.fromtimestamp(round(at, 3), UTC)
    exact = "milliseconds" if found.microsecond else "seconds"
    return found.isoformat(timespec=exact).replace("+00:00", "Z")


def _unix(at: object) -> object:
    """Read back what `iso` wrote; anything else is as it is."""
    return datetime.fromisoformat(at).timestamp() if isinstance(at, str) else at


#: A moment (Unix seconds), in ISO 8601 in UTC.
Moment = Annotated[
    float,
    BeforeValidator(_unix),
    PlainSerializer(iso, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
