"""Owns prices, in whole credits: pure functions of what is asked for, the same for quote and bill.

The specification shows no cost of any operation (section 8); these are the sandbox's own.
"""

from __future__ import annotations

import math

from deployments.sandbox.video_bodies import CreateVideo

PER_SECOND = {
    None: 2,
    "talking-head": 2,
    "cinematic": 3,
    "hybrid": 3,
    "stock-narrated": 1,
    "smart-mix": 2,
}
CLIP_PER_SECOND = {"image-to-video": 4, "talking-avatar": 4, "character-swap": 5}
TOOL = 5
VIDEO_MODEL_PER_SECOND = 1
SCENE_PER_SECOND = 3
VOICE_PER_SECOND = 1
EXPORT = 2


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
    """Say what the film costs; each generate costs it again."""
    return sum(quote(asked).values())


def clip_price(operation: str, duration: int) -> int:
    """Say what a clip of so many seconds costs."""
    return CLIP_PER_SECOND[operation] * duration


def scene_price(seconds: float) -> int:
    """Say what one scene costs when it is made anew."""
    return SCENE_PER_SECOND * math.ceil(seconds)


def voice_price(duration: int) -> int:
    """Say what another voice over the whole film costs."""
    return VOICE_PER_SECOND * duration
