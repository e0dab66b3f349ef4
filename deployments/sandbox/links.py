"""Owns the addresses of videos: signed, good for one render of one video, and only for a while.

A download is for who holds a key; a share is for people without an account and lasts some days.
The specification shows neither the shape of a share nor how long it lasts (section 8).
"""

from __future__ import annotations

import hashlib
import hmac
import math
from typing import NamedTuple

from callsheet.deployments.sandbox.envelope import Refusal

DOWNLOAD_LIFETIME = 900.0
SHARE_LIFETIME = 7 * 86_400.0
SHORTEST = 5.0
STRANGE = "This download address is not one of ours."


class SignedLink(NamedTuple):
    """A link: its path below the origin, its end in Unix seconds, and how many are left."""

    path: str
    expires: int
    expires_in: int


class Links:
    """Makes links and reads them again. Lifetimes, in seconds, shrink with the time scale."""

    def __init__(self, secret: bytes, time_scale: float) -> None:
        self._secret = secret
        self.download_lifetime = max(SHORTEST, DOWNLOAD_LIFETIME / time_scale)
        self.share_lifetime = max(SHORTEST, SHARE_LIFETIME / time_scale)

    def download(self, video_id: str, render: int, *, now: float) -> SignedLink:
        """Make the link to one render's file, good from now on for the lifetime."""
        expires = math.ceil(now + self.download_lifetime)
        signature = self._signature(video_id, render, expires)
        query = f"render={render}&expires={expires}&signature={signature}"
        path = f"/files/{video_id}.mp4?{query}"
        return SignedLink(path, expires, round(self.download_lifetime))

    def read_download(
        self, video_id: str, *, render: str, expires: str, signature: str, now: float
    ) -> int:
        """Give the number of the render that a good address names; refuse any other address."""
        if not (render.isascii() and render.isdigit() and expires.isascii() and expires.isdigit()):
            raise Refusal(403, "bad_signature", STRANGE)
        good = self._signature(video_id, render, expires)
        if not hmac.compare_digest(good.encode(), signature.encode()):
            raise Refusal(403, "bad_signature", STRANGE)
        if now >= int(expires):
            message = "This download address has expired; ask for another."
            raise Refusal(403, "url_expired", message)
        return int(render)

    def share(self, video_id: str, render: int, *, now: float) -> SignedLink:
        """Make the public link to one render's video."""
        expires = math.ceil(now + self.share_lifetime)
        said = f"{video_id}.{render}.{expires}"
        path = f"/share/{said}.{self._share_signature(said)}"
        return SignedLink(path, expires, round(self.share_lifetime))

    def read_share(self, token: str, *, now: float) -> tuple[str, int]:
        """Give the video and render that a link names; 404 for a made-up one, 410 past its end."""
        said, _, signature = token.rpartition(".")
        if not hmac.compare_digest(self._share_signature(said).encode(), signature.encode()):
            raise Refusal(404, "not_found", "This link is not one of ours.")
        video_id, render, expires = said.split(".")
        if now >= int(expires):
            raise Refusal(410, "link_expired", "This link has expired; ask for another.")
        return video_id, int(render)

    def _share_signature(self, said: str) -> str:
        # "share" keeps these apart from the signatures of downloads, made with the same secret.
        return self._signature("share", said)[:32]

    def _signature(self, *said: object) -> str:
        return hmac.new(
            self._secret, "\n".join(map(str, said)).encode(), hashlib.sha256
        ).hexdigest()
