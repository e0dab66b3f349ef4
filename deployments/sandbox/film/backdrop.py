"""Owns what is behind the words: a gradient with soft lights, a little larger than the picture
so that the camera can drift over it, and the number of the scene as a large watermark."""

from __future__ import annotations

import random

from PIL import Image, ImageDraw, ImageFilter, ImageOps

from deployments.sandbox.film.lettering import font
from deployments.sandbox.film.palette import palette

DRIFT = 1.12


def backdrop(size: tuple[int, int], *, seed: int, scene: int, take: int = 0) -> Image.Image:
    """Paint the background of one scene; another `take` of it has other lights and another hue."""
    colours = palette(seed, scene + 7 * take)
    width, height = round(size[0] * DRIFT), round(size[1] * DRIFT)
    slope = Image.linear_gradient("L").rotate(25, resample=Image.Resampling.BICUBIC, fillcolor=128)
    slope = slope.crop((48, 48, 208, 208)).resize((width, height), Image.Resampling.BICUBIC)
    picture = ImageOps.colorize(slope, black=colours.deep, white=colours.dark)
    chance = random.Random(f"{seed} {scene} {take}")
    picture.paste(colours.glow, mask=_lights((width, height), chance))
    watermark = Image.new("L", (width, height))
    tall = round(min(width, height) * 0.62)
    ImageDraw.Draw(watermark).text(
        (width * 0.97, height * 0.02), f"{scene}", fill=26, font=font(tall, bold=True), anchor="ra"
    )
    picture.paste((255, 255, 255), mask=watermark)
    return picture


def _lights(size: tuple[int, int], chance: random.Random) -> Image.Image:
    # Drawn at a quarter of the size: blurring is the dear part, and blur needs no detail.
    width, height = size[0] // 4, size[1] // 4
    lights = Image.new("L", (width, height))
    for _ in range(7):
        one = Image.new("L", (width, height))
        radius = chance.randint(min(width, height) // 9, min(width, height) // 3)
        x, y = chance.randint(0, width), chance.randint(0, height)
        ImageDraw.Draw(one).ellipse(
            (x - radius, y - radius, x + radius, y + radius), fill=chance.randint(35, 95)
        )
        soft = one.filter(ImageFilter.GaussianBlur(chance.choice((2, 5, 9))))
        lights = Image.composite(soft, lights, soft.point([0] + [255] * 255))
    smooth = lights.filter(ImageFilter.GaussianBlur(2))
    return smooth.resize(size, Image.Resampling.BICUBIC)
