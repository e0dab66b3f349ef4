"""The one inspection of a video: whether it plays, what it is, what is wrong, and its pictures.

Everything is found in one reading: key frames at ten moments, sizes of packets, some sound. More
is decoded only of what looks black or silent. What goes wrong with a check or a picture says
nothing about the video: there are fewer findings or pictures.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from callsheet.tasks.runtime.errors import VideoError
from callsheet.tasks.store.checks import (
    PicturePacket,
    is_dark,
    is_silent,
    judge_black,
    judge_frozen,
    judge_silence,
    may_stand_still,
)
from callsheet.tasks.store.pictures import (
    Jpeg,
    moments,
    poster_of,
    strip_of,
    tile_of,
)
from callsheet.tasks.store.store import Store, name_beside
from callsheet.tasks.store.video_file import (
    check_boxes,
    check_units,
    find_ai_mark,
    width_of_lengths,
)
from callsheet.tasks.values.briefs import AiMark, Check

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.codeccontext import VideoCodecContext
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream
    from PIL.Image import Image

#: What is made of a video's key frames: poster and strip, the poster alone, or nothing.
Wanted = Literal["yes", "poster", "no"]
#: Frames that are decoded at most to find light in a video whose key frames are black.
_MOST_DARK = 240
_MICROSECONDS = 1_000_000
#: The index of an MP4 says what is in it: to open one, libav need not read or decode anything more.
_INDEX_ALONE = {"codec_whitelist": "none", "probesize": "32"}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What a look at a video tells: what it is, its pictures, and by check OK or what is wrong.

    `shown` is how many different pictures the strip is made of.
    """

    seconds: float
    width: int
    height: int
    has_sound: bool
    ai_mark: AiMark = "none"
    findings: Mapping[Check, str] = field(default_factory=dict)
    poster: Jpeg | None = None
    strip: Jpeg | None = None
    shown: int = 0


def inspect_video(path: Path, pictures: Wanted | None = None) -> Inspection:
    """Return what the video at `path` is; raise VideoError when it is not a playable MP4.

    All of it is read, the units of every picture are counted through, which finds what is cut,
    overwritten or left out, and every key frame is decoded. To decode all of a video takes seconds
    of it, and the pictures between two key frames only build on them. With `pictures` it is also
    checked for what can be seen and heard, and those pictures are made.
    """
    check_boxes(path)
    import av

    try:
        # The format is named so that nothing else (a playlist, say) is read from these bytes.
        with av.open(str(path), format="mp4", options=dict(_INDEX_ALONE)) as container:
            if container.streams.video:
                look = None if pictures is None else _Look(container, pictures)
                seen = _read_pictures(container, look)
                seen = seen if look is None else look.end(seen)
                return replace(seen, ai_mark=find_ai_mark(path))
            problem = "the file has no picture"
    except (av.error.FFmpegError, ValueError):
        problem = "no picture of the video can be decoded"
    raise VideoError(problem)


def _read_pictures(container: InputContainer, look: _Look | None) -> Inspection:
    """Read every packet of the picture and decode its key frames."""
    picture = container.streams.video[0]
    decoder = picture.codec_context
    # Few frames need no helpers: starting some for each video costs more than it saves.
    decoder.thread_count = 1
    # Damage is an error, not something to be painted over; no one sees whether edges are smooth.
    decoder.options = {"err_detect": "explode", "skip_loop_filter": "all"}
    width = width_of_lengths(decoder)
    first = None
    for packet in container.demux(picture):
        if packet.size and width is not None:
            check_units(bytes(packet), width)
        if packet.size and packet.is_keyframe:
            frame = _decoded(decoder, packet)
            first = first or frame
            if look is not None:
                look.key_frame(packet, frame)
    if first is None:
        raise ValueError("the video has no key frame")
    return Inspection(
        seconds=_seconds_of(container),
        width=first.width,
        height=first.height,
        has_sound=bool(container.streams.audio),
    )


def _decoded(decoder: VideoCodecContext, packet: Packet[VideoStream]) -> VideoFrame:
    frames = [*decoder.decode(packet), *decoder.decode(None)]
    # It was told that the video is over, and there may be more of it.
    decoder.flush_buffers()
    if not frames:
        raise ValueError("there is no picture in a key frame")
    return frames[0]


def _seconds_of(container: InputContainer) -> float:
    return (container.duration or 0) / _MICROSECONDS


class _Look:
    """What is seen of a video while it is read. Nothing of it raises."""

    def __init__(self, container: InputContainer, pictures: Wanted) -> None:
        self._container, self._pictures = container, pictures
        self._picture = container.streams.video[0]
        self._pixels = self._picture.width * self._picture.height
        self._seconds = _seconds_of(container)
        self._findings: dict[Check, str] = {}
        self._poster: Jpeg | None = None
        self._strip: Jpeg | None = None
        #: A small picture of each moment that has a key frame of its own, by decoding time.
        self._tiles: dict[int, Image] = {}
        #: Key frames near the ten moments, in the moments' order.
        self._nearest: list[int] = []
        self._bright = False
        self._guarded(self._choose)

    def key_frame(self, packet: Packet[VideoStream], frame: VideoFrame) -> None:
        """See a key frame that was decoded."""
        if packet.dts in self._nearest and packet.dts not in self._tiles:
            self._guarded(lambda: self._keep(int(packet.dts or 0), frame))

    def end(self, seen: Inspection) -> Inspection:
        """Judge what was seen of a video that plays, while its container is still open."""
        for step in (self._judge_picture, self._judge_sound, self._make_strip):
            self._guarded(step)
        return replace(
            seen,
            findings=self._findings,
            poster=self._poster,
            strip=self._strip,
            shown=len(self._tiles),
        )

    def _choose(self) -> None:
        """Choose the key frames to be shown."""
        step = float(self._picture.time_base or 0)
        entries = list(self._picture.index_entries)
        first = entries[0].timestamp if entries else 0
        keys = [entry.timestamp for entry in entries if entry.is_keyframe]
        for moment in moments(self._seconds):
            self._nearest.append(_nearest(keys, first + moment / step))

    def _keep(self, at: int, frame: VideoFrame) -> None:
        tile = tile_of(frame)
        self._tiles[at] = tile
        if self._bright:
            return
        self._bright = not is_dark(tile)
        # The first that shows something: videos like to begin in the dark.
        if self._pictures != "no" and (self._bright or self._poster is None):
            self._poster = poster_of(frame)

    def _judge_picture(self) -> None:
        if not self._tiles:
            return
        light = None if self._bright else self._find_light()
        if light is not None and self._pictures != "no":
            self._poster = poster_of(light)
        dark = {at: is_dark(tile) for at, tile in self._tiles.items()}
        shown = [dark[at] for at in (self._nearest if len(dark) > 2 else dark) if at in dark]
        self._findings["black"] = judge_black(shown, light_found=light is not None)
        self._findings["frozen"] = judge_frozen(
            list(self._tiles.values()), self._packets(), pixels=self._pixels, seconds=self._seconds
        )

    def _packets(self) -> list[PicturePacket]:
        """Return the packets of a picture that may stand still; none where too much moves."""
        entries = list(self._picture.index_entries)
        sizes = [entry.size for entry in entries]
        if not may_stand_still(sizes, self._pixels, self._seconds):
            return []
        step, first = float(self._picture.time_base or 0), entries[0].timestamp
        return [
            PicturePacket(
                (e.timestamp - first) * step, e.size, e.is_keyframe, self._tiles.get(e.timestamp)
            )
            for e in entries
        ]

    def _find_light(self) -> VideoFrame | None:
        """Return a frame between the key frames that is not black; None where there is none."""
        self._container.seek(0)
        for number, frame in enumerate(self._container.decode(self._picture)):
            if not is_dark(tile_of(frame)):
                return frame
            if number >= _MOST_DARK:
                break
        return None

    def _judge_sound(self) -> None:
        if self._container.streams.audio:
            self._findings["silence"] = judge_silence(silent=is_silent(self._container))

    def _make_strip(self) -> None:
        if self._pictures == "yes" and self._tiles:
            first = next(iter(self._tiles.values()))
            self._strip = strip_of([self._tiles.get(at, first) for at in self._nearest])

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception as error:
            # Whatever it is, the video is no worse for it.
            _log.debug("a video could not be looked at closely: %s", type(error).__name__)


def _nearest(keys: list[int], moment: float) -> int:
    """Return the one of some ascending numbers that is next to a moment."""
    at = bisect_left(keys, moment)
    return min(keys[max(0, at - 1) : at + 1], key=lambda key: abs(key - moment))


# What is kept next to a video: its pictures. They can be made again, so none is waited for long.


#: How a picture's name ends where its video's ends in .mp4.
ENDINGS: Mapping[Literal["poster", "strip"], str] = {"poster": ".jpg", "strip": ".strip.jpg"}
#: Seconds that a delivery waits for its pictures at most.
LONGEST = 10.0


@dataclass(frozen=True, kw_only=True)
class PictureBeside:
    """A picture in the store: its address, bytes, and pixels; `shown` different ones are in it."""

    uri: str
    bytes: int
    width: int
    height: int
    shown: int = 1


async def keep_pictures(
    store: Store, video: str, inspection: Inspection
) -> dict[Literal["poster", "strip"], PictureBeside]:
    """Keep the pictures of a video next to it, by its name; return those that are there."""
    made: dict[Literal["poster", "strip"], Jpeg | None] = {
        "poster": inspection.poster,
        "strip": inspection.strip,
    }
    wanted = {kind: jpeg for kind, jpeg in made.items() if jpeg is not None}
    try:
        async with asyncio.timeout(LONGEST):
            addresses = await asyncio.gather(
                *(
                    store.keep(
                        name_beside(video, ENDINGS[kind]), jpeg.data, content_type="image/jpeg"
                    )
                    for kind, jpeg in wanted.items()
                )
            )
    except TimeoutError:
        return {}
    return {
        kind: PictureBeside(
            uri=uri,
            bytes=len(jpeg.data),
            width=jpeg.width,
            height=jpeg.height,
            shown=inspection.shown if kind == "strip" else 1,
        )
        for (kind, jpeg), uri in zip(wanted.items(), addresses, strict=True)
        if uri is not None
    }
