"""Owns what a receiver gets: the raw bytes, their signature, and the headers of section 6."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

SENDER = "video-generation-service-webhooks/1.0"


@dataclass(frozen=True, kw_only=True)
class Message:
    """One HTTP request to a receiver. `timestamp` is in Unix seconds."""

    url: str
    secret: str
    body: bytes
    kind: str
    event_id: str
    attempt: int
    timestamp: int
    signature: str | None

    def headers(self, vendor: str) -> dict[str, str]:
        """Give the headers; their names hold the vendor's, `Service` in the specification."""
        said = {
            "Content-Type": "application/json",
            "User-Agent": SENDER,
            f"X-{vendor}-Event": self.kind,
            f"X-{vendor}-Event-Id": self.event_id,
            f"X-{vendor}-Timestamp": str(self.timestamp),
            f"X-{vendor}-Attempt": str(self.attempt),
        }
        if self.signature is not None:
            said[f"X-{vendor}-Signature"] = self.signature
        return said


def signed(
    *, url: str, secret: str, body: bytes, kind: str, event_id: str, attempt: int, now: float
) -> Message:
    """Make the message that a receiver should accept."""
    return Message(
        url=url, secret=secret, body=body, kind=kind, event_id=event_id, attempt=attempt,
        timestamp=int(now), signature=signature_of(body, secret),
    )  # fmt: skip


def signature_of(body: bytes, secret: str) -> str:
    """Sign the raw bytes: `sha256=` and the lowercase hexadecimal HMAC-SHA256."""
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"
