"""Checks of a video that plays: black or frozen pictures, sound, length.

Of what a look at the video saw: small pictures, sizes of packets, samples of sound. Each gives OK,
or what is wrong in words for people. A check is a hint for anyone who decides: a false one costs a
short check, so only what is plain is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

from callsheet.tasks.values.briefs import OK, AiMark

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.packet import Packet
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
#: How far a video may be from the length asked for: so many seconds, or that part of it.
_LENGTH_SECONDS, _LENGTH_PART = 1.0, 0.2


class PicturePacket(NamedTuple):
    """A packet of the picture: when it is shown, in seconds, and its bytes.

    A key frame says all of the picture again, and may have a small picture of it.
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


def judge_length(seconds: float, asked: float) -> str:
    """Judge a video's length against the one that was asked for, in seconds."""
    if abs(seconds - asked) > max(_LENGTH_SECONDS, _LENGTH_PART * asked):
        return f"it is {round(seconds, 1):g} s long, {asked:g} s were asked for"
    return OK


def judge_ai_mark(mark: AiMark) -> str:
    """Judge whether the file says how it was made: asked of videos by the settings alone."""
    return OK if mark == "found" else "the file has no C2PA manifest"


# Whether there is anything to hear.


#: Below this no sound can be heard (-60 dB of the loudest there is).
_SILENT = 0.001
#: Packets that are decoded at most to hear something, and how many at once; few the first time,
#: since most videos are heard at once.
_MOST, _AT_ONCE, _AT_FIRST = 20_000, 100, 4


def is_silent(container: InputContainer) -> bool:
    """Return whether nothing can be heard in a video's sound track, decoded until something is."""
    stream = container.streams.audio[0]
    stream.codec_context.thread_count = 1
    container.seek(0)
    packets = (packet for packet in container.demux(stream) if packet.size)
    heard = 0
    while part := list(islice(packets, _AT_ONCE if heard else _AT_FIRST)):
        heard += len(part)
        if _loudest(part) >= _SILENT:
            return False
        if heard > _MOST:
            break
    return True


def _loudest(packets: Sequence[Packet[AudioStream]]) -> float:
    """Return the loudest of all samples in some packets (of 1)."""
    from av.audio.resampler import AudioResampler
    from PIL import Image

    resampler = AudioResampler(format="fltp")
    frames = [frame for packet in packets for frame in packet.decode()]
    same = [one for frame in frames for one in resampler.resample(frame)]
    data = b"".join(bytes(plane) for frame in same for plane in frame.planes)
    if not data:
        return 0.0
    # A picture of one line: Pillow looks at its points without a loop of ours.
    line = Image.frombuffer("F", (len(data) // 4, 1), data, "raw", "F", 0, 1)
    lowest, highest = cast("tuple[float, float]", line.getextrema())
    return max(-lowest, highest)
