"""Owns the person in a clip: a head that speaks, or somebody who moves where another was."""

from __future__ import annotations

import functools
import math

from PIL import Image, ImageDraw, ImageOps

from deployments.sandbox.film.palette import palette
from deployments.sandbox.film.plan import FilmPlan


def draw_figure(shown: Image.Image, plan: FilmPlan, moment: float) -> None:
    """Draw the person as they are at this moment."""
    draw = ImageDraw.Draw(shown)
    colours = palette(plan.seed, 2)
    width, height = plan.size
    unit = min(plan.size) * 0.16
    moving = plan.clip is not None and plan.clip.operation == "character-swap"
    x = width / 2 + (math.sin(moment * 1.3) * width * 0.18 if moving else 0)
    y = height * 0.46 + math.sin(moment * (5 if moving else 1.5)) * unit * 0.06
    draw.ellipse((x - unit * 1.5, y + unit * 1.1, x + unit * 1.5, y + unit * 4.5), colours.dark)
    if plan.clip is not None and plan.clip.picture is not None:
        _face(shown, plan.clip.picture, round(x - unit), round(y - unit * 1.2), round(unit))
        return
    draw.ellipse((x - unit, y - unit * 1.2, x + unit, y + unit * 1.2), (232, 196, 168))
    draw.chord((x - unit, y - unit * 1.3, x + unit, y + unit * 0.8), 180, 360, colours.deep)
    for eye in (-0.38, 0.38):
        spot = x + unit * eye
        draw.ellipse((spot - 4, y - 2, spot + 4, y + 6), (30, 30, 36))
    speaking = plan.spoken and moment < plan.duration * 0.9
    opened = abs(math.sin(moment * 9)) * unit * 0.22 if speaking else 1
    mouth = y + unit * 0.62
    draw.ellipse((x - unit * 0.3, mouth - opened, x + unit * 0.3, mouth + opened), (140, 50, 50))


@functools.cache
def _photograph(path: str, unit: int) -> Image.Image:
    size = (2 * unit, round(2.4 * unit))
    with Image.open(path) as picture:
        face = ImageOps.fit(picture.convert("RGB"), size, Image.Resampling.BICUBIC)
    oval = Image.new("L", size)
    ImageDraw.Draw(oval).ellipse((0, 0, *size), 255)
    face.putalpha(oval)
    return face


def _face(shown: Image.Image, path: str, left: int, top: int, unit: int) -> None:
    """Put the person of a supplied photo where a face was."""
    face = _photograph(path, unit)
    shown.paste(face, (left, top), face)
