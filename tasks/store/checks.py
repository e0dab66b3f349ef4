"""Checks of a video that plays: black or frozen pictures, sound, length, captions.

Pure functions of what a look at the video saw: small pictures, sizes of packets, samples of
sound, times of captions. Each gives OK, or what is wrong in words for people. A check is a hint
for anyone who decides: a false one costs a short check, so only what is plain is told.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from callsheet.tasks.runtime.errors import VideoError
from callsheet.tasks.values.briefs import OK, CaptionFormat

if TYPE_CHECKING:
    from av.audio.codeccontext import AudioCodecContext
    from av.audio.frame import AudioFrame
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
#: Captions may end so much later than the video, in seconds: players stop with the video.
_CAPTIONS_LATE = 0.5

_CUE = re.compile(
    r"^\s*(?:(\d+):)?(\d\d):(\d\d)[.,](\d{1,3})\s+-->\s+(?:(\d+):)?(\d\d):(\d\d)[.,](\d{1,3})",
    re.MULTILINE,
)


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


# How loud a video is: some of its sound, decoded here and there.


#: Places of a video that are listened to, and packets at each. The first of them is not counted:
#: a decoder that begins in the middle has yet to hear what comes before.
_PLACES, _PACKETS = 3, 2
#: Below this no sound can be heard (-60 dB of the loudest there is).
_SILENT = 0.001
#: Packets that are decoded at most to hear something, and how many at once.
_MOST, _AT_ONCE = 20_000, 100


class Sound:
    """The loudest of all samples heard (of 1)."""

    def __init__(self, container: InputContainer, stream: AudioStream) -> None:
        self.loudest = 0.0
        self._heard: list[bytes] = []
        self._container, self._stream = container, stream
        self._decoder = _decoders().take(stream)

    @property
    def is_silent(self) -> bool:
        """Whether nothing that was heard can be heard."""
        return self.loudest < _SILENT

    def sample(self, path: Path) -> None:
        """Listen here and there; where there is nothing to hear, until there is something."""
        for packets in self._places(path):
            for number, packet in enumerate(packets):
                self._hear(packet, counted=number > 0)
        self._count()
        if self.is_silent:
            self._hear_all()
        _decoders().put_back(self._decoder)

    def _places(self, path: Path) -> Iterator[list[Packet[Any]]]:
        """Yield packets, read where the video's index says: nothing else is read for them."""
        from av.packet import Packet

        entries = self._stream.index_entries
        count = len(entries)
        with path.open("rb") as file:
            for place in range(_PLACES if count > _PLACES * _PACKETS else 0):
                first = round(count * (place + 0.5) / _PLACES)
                packets: list[Packet[Any]] = []
                for entry in (entries[first + more] for more in range(_PACKETS)):
                    file.seek(entry.pos)
                    packets.append(Packet(file.read(entry.size)))
                yield packets

    def _hear_all(self) -> None:
        """Listen from the beginning: words may be said between the places of before."""
        self._container.seek(0)
        for number, packet in enumerate(self._container.demux(self._stream)):
            if packet.size:
                self._hear(packet, counted=True)
            if number % _AT_ONCE == 0:
                self._count()
                if not self.is_silent or number > _MOST:
                    break
        self._count()

    def _hear(self, packet: Packet[Any], *, counted: bool) -> None:
        for frame in self._decoder.decode(packet):
            if counted:
                self._take(frame)

    def _take(self, frame: AudioFrame) -> None:
        if frame.format.name.startswith("flt"):
            self._heard += [bytes(plane) for plane in frame.planes]
            return
        from av.audio.resampler import AudioResampler

        for same in AudioResampler(format="fltp").resample(frame):
            self._take(same)

    def _count(self) -> None:
        from PIL import Image

        data, self._heard = b"".join(self._heard), []
        if not data:
            return
        # A picture of one line: Pillow looks at its points without a loop of ours.
        line = Image.frombuffer("F", (len(data) // 4, 1), data, "raw", "F", 0, 1)
        lowest, highest = cast("tuple[float, float]", line.getextrema())
        self.loudest = max(self.loudest, -lowest, highest)


class _Decoders(threading.local):
    """The decoder of the last video that could be heard: the next one is most likely alike.

    To make one takes as long as to decode some fifty packets.
    """

    def __init__(self) -> None:
        #: What it was made of, before it was told more by the first packet.
        self._kind: object = None
        self._decoder: AudioCodecContext | None = None

    def take(self, stream: AudioStream) -> AudioCodecContext:
        """Return a decoder for a stream, of which it has heard nothing."""
        kind, found = _kind_of(stream), self._decoder
        self._decoder = None
        if found is None or kind != self._kind:
            found = stream.codec_context
            found.thread_count = 1
        self._kind = kind
        return found

    def put_back(self, decoder: AudioCodecContext) -> None:
        """Keep the decoder that was taken last, if nothing went wrong with it."""
        decoder.flush_buffers()
        self._decoder = decoder


@cache
def _decoders() -> _Decoders:
    return _Decoders()


def _kind_of(stream: AudioStream) -> object:
    """Return all that a decoder is made of."""
    made_of = stream.codec_context
    shape = made_of.sample_rate, made_of.layout.name, made_of.format and made_of.format.name
    return made_of.name, made_of.extradata, shape


# Whether some bytes are captions in the format that was asked for.


_TIMES = {
    "srt": re.compile(r"^\s*\d+:\d\d:\d\d,\d{1,3}\s+-->\s+\d+:\d\d:\d\d,\d{1,3}", re.M),
    "vtt": re.compile(r"^\s*(?:\d+:)?\d\d:\d\d\.\d{3}\s+-->\s+(?:\d+:)?\d\d:\d\d\.\d{3}", re.M),
}


#: Cues as nearly everybody writes them: all of a file of these can be read without the parser.
_LINES = r"((?:[^\n]*\S[^\n]*\n)+)\n*"
_VTT_TIME = r"(?:\d\d:)?\d\d:\d\d\.\d{3}"
_PLAIN = {
    "srt": re.compile(r"\d+\n(\d\d:\d\d:\d\d,\d{3}) --> (\d\d:\d\d:\d\d,\d{3})\n" + _LINES),
    "vtt": re.compile(rf"(?:\d+\n)?({_VTT_TIME}) --> ({_VTT_TIME})\n" + _LINES),
}
_HEAD = {"srt": "", "vtt": "WEBVTT\n\n"}


def check_captions(data: bytes, format: CaptionFormat) -> int:
    """Return how many cues `data` holds; raise VideoError when it is not captions in `format`."""
    text = _text(data, format)
    if _is_vtt(text) != (format == "vtt"):
        raise VideoError(f"the {format} captions are in another format")
    # The parser drops what it does not understand; counting the times finds what it dropped.
    announced = len(_TIMES[format].findall(text))
    cues = _plain_cues(text, format) if announced else 0
    if cues is None:
        cues = _cues(text, format)
    if not cues:
        raise VideoError(f"the {format} captions hold no cue")
    if cues != announced:
        raise VideoError(f"only {cues} of {announced} cues of the {format} captions can be read")
    return cues


def _text(data: bytes, format: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise VideoError(f"the {format} captions are not text in UTF-8")
    if not text.strip():
        raise VideoError(f"the {format} captions are empty")
    if text.lstrip()[0] in "<{[":
        raise VideoError(f"a page or a message came instead of {format} captions")
    return text


def _is_vtt(text: str) -> bool:
    return re.match(r"WEBVTT(?:[ \t\r\n]|$)", text) is not None


def _plain_cues(text: str, format: str) -> int | None:
    """Return how many cues a file holds that has nothing but plain ones; None for any other.

    The parser takes its time, and the event loop's.
    """
    text = text.replace("\r\n", "\n").rstrip() + "\n"
    if not text.startswith(_HEAD[format]):
        return None
    cues, at = 0, len(_HEAD[format])
    while at < len(text):
        cue = _PLAIN[format].match(text, at)
        if cue is None or "-->" in cue[3] or len(cue[1]) != len(cue[2]):
            return None
        cues += cue[2] >= cue[1]
        at = cue.end()
    return cues


def _cues(text: str, format: str) -> int:
    import pysubs2

    try:
        parsed = pysubs2.SSAFile.from_string(text, format_=format)
    except (pysubs2.exceptions.Pysubs2Error, ValueError):
        return 0
    return sum(1 for cue in parsed if cue.end >= cue.start)


def as_vtt(srt: bytes) -> bytes:
    """Return SubRip captions as WebVTT, which browsers show; raise VideoError for others."""
    import pysubs2

    try:
        parsed = pysubs2.SSAFile.from_string(_text(srt, "srt"), format_="srt")
    except (pysubs2.exceptions.Pysubs2Error, ValueError):
        raise VideoError("the srt captions cannot be read") from None
    return parsed.to_string("vtt").encode()
