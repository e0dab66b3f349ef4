"""Owns download addresses: signed, good for one render of one video, and only for a while."""

from __future__ import annotations

import hashlib
import hmac
import math
from typing import NamedTuple

from deployments.sandbox.envelope import Refusal

LIFETIME = 900.0
SHORTEST = 5.0


class Signed(NamedTuple):
    path: str
    expires: int


class Signer:
    """Signs addresses and checks them again."""

    def __init__(self, secret: bytes, time_scale: float) -> None:
        self._secret = secret
        self.lifetime = max(SHORTEST, LIFETIME / time_scale)

    def sign(self, video_id: str, render: int, *, now: float) -> Signed:
        """Make the path of one render's file, good from now on for the lifetime."""
        expires = math.ceil(now + self.lifetime)
        signature = self._signature(video_id, render, expires)
        query = f"render={render}&expires={expires}&signature={signature}"
        return Signed(f"/files/{video_id}.mp4?{query}", expires)

    def check(self, video_id: str, *, render: str, expires: str, signature: str, now: float) -> int:
        """Give the number of the render that a good address names; refuse any other address."""
        if not (render.isascii() and render.isdigit() and expires.isascii() and expires.isdigit()):
            raise _refusal("bad_signature", "This download address is not one of ours.")
        good = self._signature(video_id, render, expires)
        if not hmac.compare_digest(good.encode(), signature.encode()):
            raise _refusal("bad_signature", "This download address is not one of ours.")
        if now >= int(expires):
            raise _refusal("url_expired", "This download address has expired; ask for another.")
        return int(render)

    def _signature(self, video_id: str, render: int | str, expires: int | str) -> str:
        said = f"{video_id}\n{render}\n{expires}".encode()
        return hmac.new(self._secret, said, hashlib.sha256).hexdigest()


def _refusal(code: str, message: str) -> Refusal:
    return Refusal(403, code, message)
