"""How the interface says moments: ISO 8601 in UTC. Ours are Unix seconds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import PlainSerializer, WithJsonSchema


def iso(at: float) -> str:
    """Return a moment as `2026-11-22T14:48:20Z`, with thousandths where it has them."""
    found = datetime.fromtimestamp(round(at, 3), UTC)
    exact = "milliseconds" if found.microsecond else "seconds"
    return found.isoformat(timespec=exact).replace("+00:00", "Z")


#: A moment in an answer.
Moment = Annotated[
    float,
    PlainSerializer(iso, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
