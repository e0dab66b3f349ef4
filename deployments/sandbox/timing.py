"""Owns how long things take: minutes by default, divided by the time scale."""

from __future__ import annotations

import zlib

SPREAD = 0.3


class Timing:
    """How long a render lasts in this sandbox."""

    def __init__(self, time_scale: float, *, instant: bool) -> None:
        self._time_scale = time_scale
        self._instant = instant

    def render_seconds(self, video_id: str, duration: float) -> float:
        """Say how long it takes to make so many seconds of film; a video always takes the same."""
        if self._instant:
            return 0.0
        share = zlib.crc32(video_id.encode()) / 0xFFFFFFFF
        factor = 1 - SPREAD + 2 * SPREAD * share
        return (60 + 3 * duration) * factor / self._time_scale
