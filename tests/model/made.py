"""What the simulated service has made: its life, its video and its price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: What becomes of a render, and the word that the service has for it.
FATES = {
    "ready": "completed",
    "failed": "failed",
    "never": "generating",
    "odd": "composing-v2",
}


@dataclass
class Made:
    """A video at the service; `take` says which call made it, None for one of somebody else's."""

    id: str
    body: dict[str, Any]
    price: int
    at: float
    ends: float
    fate: str
    take: int | None
    key: str | None
    cancelled: bool = False
    deleted: bool = False

    def is_over(self, now: float) -> bool:
        """Whether its render has come to an end of its own."""
        return now >= self.ends and self.fate != "never"

    def status(self, now: float) -> str:
        """Return the service's word for it."""
        if self.cancelled:
            return "cancelled"
        return FATES[self.fate] if self.is_over(now) else "generating"

    def has_video(self, now: float) -> bool:
        """Whether its video can be fetched."""
        return self.fate == "ready" and self.is_over(now) and not self.cancelled

    def costs(self, now: float) -> int:
        """Return what it has taken from the balance and not given back."""
        released = self.cancelled or (self.fate == "failed" and self.is_over(now))
        return 0 if released else self.price


def price_of(body: dict[str, Any]) -> int:
    """Return what a video costs: more for a longer one."""
    return 10 + int(body.get("duration_seconds") or 0)
