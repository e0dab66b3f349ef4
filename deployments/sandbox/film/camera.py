"""Owns how the camera moves over a ground that is a little larger than the picture."""

from __future__ import annotations

import math

from PIL import Image


def drift(ground: Image.Image, size: tuple[int, int], *, seed: int, moment: float) -> Image.Image:
    """Cut the picture out of the ground, a little elsewhere at every moment."""
    width, height = size
    room_x, room_y = ground.width - width, ground.height - height
    x = round(room_x * (0.5 + 0.5 * math.sin(moment * 0.5 + seed)))
    y = round(room_y * (0.5 + 0.5 * math.cos(moment * 0.37 + seed)))
    return ground.crop((x, y, x + width, y + height))


def zoom(ground: Image.Image, size: tuple[int, int], share: float) -> Image.Image:
    """Go slowly closer, from all of the ground to three quarters of it; `share` is 0 to 1."""
    part = 1 - 0.25 * share
    wide, high = ground.width * part, ground.height * part
    left, top = (ground.width - wide) / 2, (ground.height - high) / 2
    box = (left, top, left + wide, top + high)
    return ground.resize(size, Image.Resampling.BILINEAR, box=box)
