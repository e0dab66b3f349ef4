"""Inspects a video that plays, and stores the pictures made of it.

It takes part in `inspect_video`, which reads and decodes all that is needed anyway: key frames at
ten moments, sizes of packets, some sound. More is decoded only of what looks black or silent.
Nothing that goes wrong here says anything about the video: there are fewer pictures or findings.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from callsheet.tasks.store.checks import (
    PicturePacket,
    Sound,
    is_dark,
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
from callsheet.tasks.store.video_file import VideoFile, inspect_video
from callsheet.tasks.values.briefs import Check

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream
    from PIL.Image import Image

#: What is made of a video's key frames: poster and strip, the poster alone, or nothing.
Wanted = Literal["yes", "poster", "no"]
#: Frames that are decoded at most to find light in a video whose key frames are black.
_MOST_DARK = 240

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Inspection:
    """What a look tells of a video: what it is, its pictures, and by check OK or what is wrong.

    `shown` is how many different pictures the strip is made of.
    """

    video: VideoFile
    findings: Mapping[Check, str] = field(default_factory=dict)
    poster: Jpeg | None = None
    strip: Jpeg | None = None
    shown: int = 0


def inspect_closely(path: Path, pictures: Wanted) -> Inspection:
    """Return what the video at `path` is and shows; raise VideoError if it is no playable MP4."""
    watching = _Watching(path, pictures)
    video = inspect_video(path, watching)
    return Inspection(
        video, watching.findings, watching.poster, watching.strip, len(watching.tiles)
    )


class _Watching:
    """Sees what `inspect_video` reads."""

    def __init__(self, path: Path, pictures: Wanted) -> None:
        self.findings: dict[Check, str] = {}
        self.poster: Jpeg | None = None
        self.strip: Jpeg | None = None
        #: A small picture of each moment that has a key frame of its own, by decoding time.
        self.tiles: dict[int, Image] = {}
        self._path, self._pictures = path, pictures
        #: Key frames near the ten moments, in the moments' order.
        self._nearest: list[int] = []
        self._bright = False

    def begin(self, container: InputContainer, picture: VideoStream) -> None:
        self._container, self._picture = container, picture
        self._pixels = picture.width * picture.height
        self._seconds = (container.duration or 0) / 1_000_000
        self._guarded(self._choose)

    def key_frame(self, packet: Packet[VideoStream], frame: VideoFrame) -> None:
        if packet.dts in self._nearest and packet.dts not in self.tiles:
            self._guarded(lambda: self._keep(int(packet.dts or 0), frame))

    def end(self) -> None:
        for step in (self._judge_picture, self._judge_sound, self._make_strip):
            self._guarded(step)

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
        self.tiles[at] = tile
        if self._bright:
            return
        self._bright = not is_dark(tile)
        # The first that shows something: videos like to begin in the dark.
        if self._pictures != "no" and (self._bright or self.poster is None):
            self.poster = poster_of(frame)

    def _judge_picture(self) -> None:
        if not self.tiles:
            return
        light = None if self._bright else self._find_light()
        if light is not None and self._pictures != "no":
            self.poster = poster_of(light)
        dark = {at: is_dark(tile) for at, tile in self.tiles.items()}
        shown = [dark[at] for at in (self._nearest if len(dark) > 2 else dark) if at in dark]
        self.findings["black"] = judge_black(shown, light_found=light is not None)
        self.findings["frozen"] = judge_frozen(
            list(self.tiles.values()), self._packets(), pixels=self._pixels, seconds=self._seconds
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
                (e.timestamp - first) * step, e.size, e.is_keyframe, self.tiles.get(e.timestamp)
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
        sounds = self._container.streams.audio
        if not sounds:
            return
        sound = Sound(self._container, sounds[0])
        sound.sample(self._path)
        self.findings["silence"] = judge_silence(silent=sound.is_silent)

    def _make_strip(self) -> None:
        if self._pictures == "yes" and self.tiles:
            first = next(iter(self.tiles.values()))
            self.strip = strip_of([self.tiles.get(at, first) for at in self._nearest])

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception as error:
            # Whatever it is, the video is no worse for it.
            _tell(error)


def _nearest(keys: list[int], moment: float) -> int:
    """Return the one of some ascending numbers that is next to a moment."""
    at = bisect_left(keys, moment)
    return min(keys[max(0, at - 1) : at + 1], key=lambda key: abs(key - moment))


def _tell(error: Exception) -> None:
    _log.debug("a video could not be looked at closely: %s", type(error).__name__)


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
