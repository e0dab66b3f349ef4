"""Owns the price of a film: a pure function of what is asked for, the same for quote and bill."""

from __future__ import annotations

from deployments.sandbox.bodies import CreateVideo

PER_SECOND = {
    None: 2,
    "talking-head": 2,
    "cinematic": 3,
    "hybrid": 3,
    "stock-narrated": 1,
    "smart-mix": 2,
}
TOOL = 5
VIDEO_MODEL_PER_SECOND = 1


def quote(asked: CreateVideo) -> dict[str, int]:
    """Give every part of the price that is not zero."""
    seconds = asked.duration_seconds
    parts = {
        "seconds": seconds * PER_SECOND[asked.mode],
        "script_writing": TOOL if asked.tool else 0,
        "video_model": seconds * VIDEO_MODEL_PER_SECOND if asked.video_model else 0,
    }
    return {name: credits for name, credits in parts.items() if credits}


def price(asked: CreateVideo) -> int:
    """Say what the film costs in whole credits."""
    return sum(quote(asked).values())
