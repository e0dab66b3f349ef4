"""Backdrops and lettering of a scene."""

from __future__ import annotations

import colorsys
import functools
import math
import random
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFilter, ImageFont, ImageOps

from callsheet.deployments.sandbox.mp4.video_plan import Scene, VideoPlan

Colour = tuple[int, int, int]

GOLDEN = 0.61803398875
DRIFT = 1.12


@dataclass(frozen=True, kw_only=True)
class Palette:
    dark: Colour
    deep: Colour
    glow: Colour
    accent: Colour
    bars: tuple[Colour, ...]


def palette(seed: int, scene: int) -> Palette:
    """Choose the colours of one scene: the video's hue, turned a little from scene to scene."""
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


def ground_of(plan: VideoPlan, scene: Scene) -> Image.Image:
    """Give the ground of one scene, larger than the picture so that the camera can move."""
    if plan.clip is not None and plan.clip.operation == "image-to-video":
        return _print_of(plan, scene)
    return backdrop(plan.size, seed=plan.seed, scene=scene.number, take=scene.take)


def _print_of(plan: VideoPlan, scene: Scene) -> Image.Image:
    assert plan.clip is not None
    if plan.clip.picture is not None:
        size = (round(plan.size[0] * DRIFT), round(plan.size[1] * DRIFT))
        with Image.open(plan.clip.picture) as picture:
            return ImageOps.fit(picture.convert("RGB"), size, Image.Resampling.BICUBIC)
    # Nothing is fetched: an address is shown as a print with its name on it.
    ground = backdrop(plan.size, seed=plan.seed, scene=scene.number, take=scene.take)
    draw = ImageDraw.Draw(ground)
    wide = round(min(ground.size) * 0.6)
    left, top = (ground.width - wide) // 2, round((ground.height - wide) * 0.55)
    draw.rectangle((left, top, left + wide, top + wide), (240, 238, 232))
    inner = (left + 10, top + 10, left + wide - 10, top + wide - 34)
    ground.paste((96, 112, 130), inner)
    draw.polygon(
        [(inner[0], inner[3]), (left + wide * 0.4, top + wide * 0.35), (inner[2], inner[3])],
        (60, 74, 90),
    )
    draw.ellipse((inner[2] - 60, inner[1] + 14, inner[2] - 22, inner[1] + 52), (250, 214, 120))
    name = plain(plan.clip.source.rsplit("/", 1)[-1], 28)
    middle = (left + wide / 2, top + wide - 17)
    draw.text(middle, name, (40, 40, 46), font(13), anchor="mm")
    return ground


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


def draw_figure(shown: Image.Image, plan: VideoPlan, moment: float) -> None:
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
def _oval_of(path: str, unit: int) -> Image.Image:
    size = (2 * unit, round(2.4 * unit))
    with Image.open(path) as picture:
        face = ImageOps.fit(picture.convert("RGB"), size, Image.Resampling.BICUBIC)
    oval = Image.new("L", size)
    ImageDraw.Draw(oval).ellipse((0, 0, *size), 255)
    face.putalpha(oval)
    return face


def _face(shown: Image.Image, path: str, left: int, top: int, unit: int) -> None:
    """Put the person of a supplied photo where a face was."""
    face = _oval_of(path, unit)
    shown.paste(face, (left, top), face)


# Owns words in pictures: the fonts, wrapping to a width, and the largest size that fits a box.
#
# The fonts come along in `fonts/`, so a bare machine without any font still writes words.


FONTS = Path(__file__).parent / "fonts"


class Word(NamedTuple):
    """One word and the place of its top left corner."""

    x: int
    y: int
    text: str


class Block(NamedTuple):
    """Words laid out: their size, their places and the height they take."""

    size: int
    words: list[Word]
    height: int


@functools.cache
def font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Open our own font, or Pillow's when a packager has left the file out."""
    path = FONTS / ("DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf")
    try:
        return ImageFont.truetype(str(path), size)
    except OSError:
        return ImageFont.load_default(size)


def plain(text: str, limit: int = 600) -> str:
    """Make text safe to draw: composed letters, no control characters, one line, not endless."""
    composed = unicodedata.normalize("NFC", text)
    kept = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in composed)
    words = " ".join(kept.split())
    return words if len(words) <= limit else words[: limit - 1] + "…"


def fit(text: str, *, width: int, height: int, sizes: Iterable[int], bold: bool = False) -> Block:
    """Lay text out in the largest of the sizes whose lines fit the box; cut what does not fit."""
    block = Block(0, [], 0)
    for size in sizes:
        block = _lay(text, width, size, bold=bold)
        if block.height <= height:
            return block
    shown = [word for word in block.words if word.y + line_height(block.size) <= height]
    return block._replace(words=shown, height=min(block.height, height))


def line_height(size: int) -> int:
    return round(size * 1.28)


def width_of(text: str, size: int, *, bold: bool = False) -> int:
    return round(font(size, bold=bold).getlength(text))


def _lay(text: str, width: int, size: int, *, bold: bool) -> Block:
    words: list[Word] = []
    space, x, y = width_of(" ", size, bold=bold), 0, 0
    for text_of_word in text.split():
        for piece in _pieces(text_of_word, width, size, bold=bold):
            long = width_of(piece, size, bold=bold)
            if x and x + long > width:
                x, y = 0, y + line_height(size)
            words.append(Word(x, y, piece))
            x += long + space
    return Block(size, words, y + line_height(size) if words else 0)


def _pieces(word: str, width: int, size: int, *, bold: bool) -> list[str]:
    """Break a word that is wider than the box, as an address or a script without spaces is."""
    pieces, start = [], 0
    for end in range(1, len(word) + 1):
        if end - start > 1 and width_of(word[start:end], size, bold=bold) > width:
            pieces.append(word[start : end - 1])
            start = end - 1
    return [*pieces, word[start:]]
