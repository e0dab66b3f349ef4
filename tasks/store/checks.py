"""What can be found wrong with a video that plays, before anybody looks at it.

Pure functions of what a look at the video saw: small pictures, sizes of packets, samples of sound,
times of captions. Each gives OK, or what is wrong in words for people. A check is a hint for
whoever decides: a false one costs a glance, so only what is plain is told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from callsheet.tasks.video_checks import OK

if TYPE_CHECKING:
    from PIL.Image import Image

#: A picture is black where so much of it is darker than that (of 255), as ffmpeg's blackdetect.
_DARK, _BLACK_SHARE = 26, 0.98
#: Two pictures are the same where they differ by no more than that on average, and anywhere:
#: a mouth that moves is small on average.
_SAME_MEAN, _SAME_MOST = 0.6, 16
#: A packet that says "as before" has no more bytes than that, or than that part of the pixels.
_STILL_BYTES, _STILL_PART = 120, 1 / 4000
#: So many seconds without a change are told, or half of the video, if that is more than a second.
_STILL_SECONDS, _STILL_LEAST, _STILL_HALF = 3.0, 1.0, 0.5
#: More samples at the top than this are cut off: of a pure tone, the worst there is, 14% are there.
_CLIPPED_PART = 0.25
#: How far a video may be from the length asked for: so many seconds, or that part of it.
_LENGTH_SECONDS, _LENGTH_PART = 1.0, 0.2
#: Captions may end so much later than the video, in seconds: players stop with the video.
_CAPTIONS_LATE = 0.5

_CUE = re.compile(
    r"^\s*(?:(\d+):)?(\d\d):(\d\d)[.,](\d{1,3})\s+-->\s+(?:(\d+):)?(\d\d):(\d\d)[.,](\d{1,3})",
    re.MULTILINE,
)


class PicturePacket(NamedTuple):
    """A packet of the picture: when it is shown, in seconds, and its bytes.

    A key frame says all of the picture anew, and may have a small picture of it.
    """

    at: float
    size: int
    is_key: bool
    tile: Image | None = None


def is_dark(tile: Image) -> bool:
    """Return whether a picture is black as far as anybody can see."""
    levels = tile.convert("L").histogram()
    return sum(levels[:_DARK]) >= _BLACK_SHARE * sum(levels)


def is_same(one: Image, other: Image) -> bool:
    """Return whether nothing moved between two pictures."""
    from PIL import ImageChops

    levels = ImageChops.difference(one.convert("L"), other.convert("L")).histogram()
    most = max(level for level, count in enumerate(levels) if count)
    total = sum(level * count for level, count in enumerate(levels))
    return most <= _SAME_MOST and total / sum(levels) <= _SAME_MEAN


def may_stand_still(sizes: Sequence[int], pixels: int, seconds: float) -> bool:
    """Return whether packets of these sizes may say for long that nothing moves."""
    most = _still_bytes(pixels)
    still = sum(size <= most for size in sizes)
    return bool(sizes) and still / len(sizes) * seconds > _STILL_LEAST / 2


def _still_bytes(pixels: int) -> float:
    return max(_STILL_BYTES, pixels * _STILL_PART)


def judge_black(dark: Sequence[bool], *, light_found: bool) -> str:
    """Judge pictures of moments spread over a video; `light_found` if one between is not."""
    if all(dark) and not light_found:
        return "the picture is black throughout"
    count = sum(dark)
    # A video may begin out of the dark and end in it.
    if not light_found and len(dark) > 3 and count * 2 > len(dark):
        return f"the picture is black at {count} of {len(dark)} moments"
    return OK


def judge_frozen(
    tiles: Sequence[Image], packets: Sequence[PicturePacket], *, pixels: int, seconds: float
) -> str:
    """Judge whether the picture stands still: between its key frames, or all through the video."""
    if len(tiles) > 2 and all(is_same(tiles[0], tile) for tile in tiles[1:]):
        return "the picture stands still throughout"
    begin, end = _longest_still(packets, _still_bytes(pixels), seconds)
    span = end - begin
    if span < _STILL_LEAST or (span < _STILL_SECONDS and span < _STILL_HALF * seconds):
        return OK
    if span > 0.95 * seconds:
        return "the picture stands still throughout"
    return f"the picture stands still from {round(begin, 1):g} s to {round(end, 1):g} s"


def _longest_still(
    packets: Sequence[PicturePacket], most: float, seconds: float
) -> tuple[float, float]:
    """Return the longest span, in seconds, in which no packet says anything new."""
    longest, begin, key = (0.0, 0.0), None, None
    shown = sorted(packets, key=lambda packet: packet.at)
    for packet, after in pairwise((*shown, PicturePacket(seconds, 0, is_key=True))):
        if packet.is_key:
            goes_on = key is not None and packet.tile is not None and is_same(key, packet.tile)
            key = packet.tile
            begin = begin if goes_on and begin is not None else packet.at
        elif packet.size > most:
            begin = None
        elif begin is None:
            begin = packet.at
        if begin is not None:
            longest = max(longest, (begin, after.at), key=lambda span: span[1] - span[0])
    return longest


def judge_silence(*, silent: bool) -> str:
    """Judge a sound track in which nothing can be heard, or something can."""
    return "there is a sound track, and nothing to hear" if silent else OK


def judge_clipping(at_top: float) -> str:
    """Judge by what part of some samples is at the very top."""
    if at_top > _CLIPPED_PART:
        return f"the sound is clipped: {at_top:.0%} of what was heard is cut off"
    return OK


def judge_length(seconds: float, asked: float) -> str:
    """Judge a video's length against the one that was asked for, in seconds."""
    if abs(seconds - asked) > max(_LENGTH_SECONDS, _LENGTH_PART * asked):
        return f"it is {round(seconds, 1):g} s long, {asked:g} s were asked for"
    return OK


def judge_captions(text: str, seconds: float | None) -> str:
    """Judge the times of captions, against a video's length where that is known."""
    cues = [_times(found) for found in _CUE.findall(text)]
    for number, ((before, _), (after, _)) in enumerate(pairwise(cues), 2):
        if after < before:
            return f"cue {number} of the captions begins before the one above it"
    for number, (begin, end) in enumerate(cues, 1):
        if end < begin:
            return f"cue {number} of the captions ends before it begins"
        if seconds is not None and end > seconds + _CAPTIONS_LATE:
            ends, video = round(end, 1), round(seconds, 1)
            return f"cue {number} of the captions ends at {ends:g} s, the video at {video:g} s"
    return OK


def _times(found: Sequence[str]) -> tuple[float, float]:
    """Return a cue's begin and end in seconds."""
    return _seconds(found[:4]), _seconds(found[4:])


def _seconds(parts: Sequence[str]) -> float:
    hours, minutes, seconds, rest = parts
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{rest}")
