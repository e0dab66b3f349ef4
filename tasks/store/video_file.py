"""Whether a file is a playable video, and what can be said about it."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from callsheet.tasks.runtime.errors import VideoError

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.codeccontext import VideoCodecContext
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

_MICROSECONDS = 1_000_000
#: The index of an MP4 says what is in it: to open one, libav need not read or decode anything more.
_INDEX_ALONE = {"codec_whitelist": "none", "probesize": "32"}
#: Far more zeros in a row than a unit may have, far fewer than a lost block of a disk or a network.
_HOLE = bytes(64)
#: Where the setup of a codec says how wide the lengths before its units are (ISO/IEC 14496-15).
_LENGTHS = {"h264": 4, "hevc": 21}


@dataclass(frozen=True)
class VideoFile:
    """What a look at a video tells."""

    seconds: float
    width: int
    height: int
    has_sound: bool


class Watcher(Protocol):
    """Sees what is read of a video. None of it may raise: another check says if a video plays."""

    def begin(self, container: InputContainer, picture: VideoStream) -> None:
        """See a video before any of it is read."""

    def key_frame(self, packet: Packet[VideoStream], frame: VideoFrame) -> None:
        """See a key frame that was decoded."""

    def end(self) -> None:
        """See that all of it plays, while the container is still open."""


def inspect_video(path: Path, watcher: Watcher | None = None) -> VideoFile:
    """Return what the video at `path` is; raise VideoError when it is not a playable MP4.

    All of it is read, the units of every picture are counted through, which finds what is cut,
    overwritten or left out, and every key frame is decoded. To decode all of a video takes seconds
    of it, and the pictures between two key frames only build on them. A `watcher` sees it all.
    """
    check_boxes(path)
    import av

    try:
        # The format is named so that nothing else (a playlist, say) is read from these bytes.
        with av.open(str(path), format="mp4", options=dict(_INDEX_ALONE)) as container:
            if not container.streams.video:
                problem = "the file has no picture"
            else:
                picture = container.streams.video[0]
                seconds = (container.duration or 0) / _MICROSECONDS
                sound = bool(container.streams.audio)
                width, height = _read_pictures(container, picture, watcher)
                if watcher is not None:
                    watcher.end()
                return VideoFile(seconds, width, height, sound)
    except (av.error.FFmpegError, ValueError):
        problem = "no picture of the video can be decoded"
    raise VideoError(problem)


def _read_pictures(
    container: InputContainer, picture: VideoStream, watcher: Watcher | None
) -> tuple[int, int]:
    """Read every packet and decode key frames; return width and height in pixels of the first."""
    decoder = picture.codec_context
    # Few frames need no helpers: starting some for each video costs more than it saves.
    decoder.thread_count = 1
    # Damage is an error, not something to be painted over; no one sees whether edges are smooth.
    decoder.options = {"err_detect": "explode", "skip_loop_filter": "all"}
    width = _width_of_lengths(decoder)
    first = None
    if watcher is not None:
        watcher.begin(container, picture)
    for packet in container.demux(picture):
        if packet.size and width is not None:
            _check_units(bytes(packet), width)
        if packet.size and packet.is_keyframe:
            frame = _decoded(decoder, packet)
            first = first or frame
            if watcher is not None:
                watcher.key_frame(packet, frame)
    if first is None:
        raise ValueError("the video has no key frame")
    return first.width, first.height


def _check_units(packet: bytes, width: int) -> None:
    """Raise ValueError unless the packet's units, each with its length before it, add up to it.

    Nor may a unit hold zeros that no one wrote. Encoders put a 3 behind every two zeros, lest they
    be taken for a unit's beginning (ISO/IEC 14496-10, 7.4.1): a block of them is a hole. Zeros at
    the very end are left there by some programs that cut units out of a stream.
    """
    at, size, has_zeros = 0, len(packet), _HOLE in packet
    while at < size and (length := int.from_bytes(packet[at : at + width])):
        begin, at = at + width, at + width + length
        if has_zeros and _HOLE in packet[begin:at].rstrip(b"\0"):
            raise ValueError("there is a hole in a picture")
    # No unit is empty either: a length of zero was never written.
    if at != size:
        raise ValueError("the units of a picture do not add up to it")


def _decoded(decoder: VideoCodecContext, packet: Packet[VideoStream]) -> VideoFrame:
    frames = [*decoder.decode(packet), *decoder.decode(None)]
    # It was told that the video is over, and there may be more of it.
    decoder.flush_buffers()
    if not frames:
        raise ValueError("there is no picture in a key frame")
    return frames[0]


def _width_of_lengths(decoder: VideoCodecContext) -> int | None:
    """Return how many bytes stand for a unit's length; None where units have none."""
    at = _LENGTHS.get(decoder.name)
    setup = decoder.extradata or b""
    # The first byte is a version; units without lengths are told apart by it.
    if at is None or len(setup) <= at or setup[0] != 1:
        return None
    return (setup[at] & 3) + 1


@cache
def decoding_threads() -> ThreadPoolExecutor:
    """Return the threads that decode videos."""
    # To decode keeps a core busy: more at once would only take turns, and memory.
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="callsheet-look")


def check_boxes(path: Path, *, complete: bool = False) -> None:
    """Raise VideoError unless the MP4's parts add up to the file: cheap, and finds most cuts.

    With `complete`, a last box that only says "to the end of the file" is no proof.
    """
    size = path.stat().st_size
    if size == 0:
        raise VideoError("the video is empty")
    kinds = set()
    with path.open("rb") as file:
        for kind, end in _boxes(file, size):
            if end is None and complete:
                raise VideoError("nothing in it says how long it is")
            if end is not None and end > size:
                raise VideoError(f"the video is cut: {size} of at least {end} bytes are there")
            kinds.add(kind)
    for needed, meaning in ((b"ftyp", "its type"), (b"moov", "its index")):
        if needed not in kinds:
            raise VideoError(f"the file is not a whole MP4: {meaning} is missing")


def _boxes(file: BinaryIO, size: int) -> Iterator[tuple[bytes, int | None]]:
    """Yield the kind of every top-level box and where it ends (None: wherever the file does)."""
    start = 0
    while start < size:
        file.seek(start)
        header = file.read(16)
        if len(header) < 8:
            raise VideoError("the video is cut in the middle of a box")
        length, kind = struct.unpack(">I4s", header[:8])
        smallest = 8
        if length == 1 and len(header) == 16:
            (length,) = struct.unpack(">Q", header[8:])
            smallest = 16
        elif length == 0:
            yield kind, None
            return
        if length < smallest or not kind.isascii() or not kind.decode("ascii").isprintable():
            raise VideoError("the file is not an MP4")
        yield kind, start + length
        start += length
