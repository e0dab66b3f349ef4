"""Owns public links to a film: signed, for people without an account, and only for some days.

The specification shows neither their shape nor how long they last (section 8).
"""

from __future__ import annotations

import hashlib
import hmac
import math
from typing import NamedTuple

from deployments.sandbox.envelope import Refusal

LIFETIME = 7 * 86_400.0
SHORTEST = 5.0


class ShareLink(NamedTuple):
    """A link: its path below the origin and its end in Unix seconds."""

    path: str
    expires: int


class ShareLinks:
    """Makes links and reads them again. Lifetimes shrink with the time scale."""

    def __init__(self, secret: bytes, time_scale: float) -> None:
        self._secret = secret
        self.lifetime = max(SHORTEST, LIFETIME / time_scale)

    def make(self, video_id: str, render: int, *, now: float) -> ShareLink:
        """Make the link to one render's film."""
        expires = math.ceil(now + self.lifetime)
        said = f"{video_id}.{render}.{expires}"
        return ShareLink(f"/share/{said}.{self._signature(said)}", expires)

    def read(self, token: str, *, now: float) -> tuple[str, int]:
        """Give the video and render that a link names; 404 for a made-up one, 410 past its end."""
        said, _, signature = token.rpartition(".")
        if not hmac.compare_digest(self._signature(said).encode(), signature.encode()):
            raise Refusal(404, "not_found", "This link is not one of ours.")
        video_id, render, expires = said.split(".")
        if now >= int(expires):
            raise Refusal(410, "link_expired", "This link has expired; ask for another.")
        return video_id, int(render)

    def _signature(self, said: str) -> str:
        # "share" keeps these apart from the signatures of downloads, made with the same secret.
        return hmac.new(self._secret, f"share\n{said}".encode(), hashlib.sha256).hexdigest()[:32]
