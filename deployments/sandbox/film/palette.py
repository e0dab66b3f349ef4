"""Owns colour: every film gets its own hue, far from those of the films made just before it."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

Colour = tuple[int, int, int]

GOLDEN = 0.61803398875


@dataclass(frozen=True, kw_only=True)
class Palette:
    dark: Colour
    deep: Colour
    glow: Colour
    accent: Colour
    bars: tuple[Colour, ...]


def palette(seed: int, scene: int) -> Palette:
    """Choose the colours of one scene: the film's hue, turned a little from scene to scene."""
    hue = (seed * GOLDEN + scene * 0.045) % 1.0
    partner = (hue + 0.45) % 1.0
    return Palette(
        dark=_rgb(hue, 0.70, 0.16),
        deep=_rgb(hue, 0.72, 0.46),
        glow=_rgb((hue + 0.08) % 1.0, 0.55, 0.85),
        accent=_rgb(partner, 0.42, 1.0),
        bars=tuple(_rgb((hue + step * 0.09) % 1.0, 0.55, 0.95) for step in range(7)),
    )


def _rgb(hue: float, saturation: float, value: float) -> Colour:
    red, green, blue = colorsys.hsv_to_rgb(hue, saturation, value)
    return round(red * 255), round(green * 255), round(blue * 255)
