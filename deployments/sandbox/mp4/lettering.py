"""Owns words in pictures: the fonts, wrapping to a width, and the largest size that fits a box.

The fonts come along in `fonts/`, so a bare machine without any font still writes words.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from PIL import ImageFont

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
