"""Still pictures of a video: a poster, a strip of ten, and ten single ones.

Made of decoded frames. Knows no store, and nothing of what is wrong with a video.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from callsheet.tasks.runtime.errors import BadInput, VideoError

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from PIL.Image import Image

#: Pictures of a strip, side by side: the n-th is of the middle of the video's n-th tenth.
TILES = 10
#: The longer edge in pixels: of a poster as pages show it, and of one picture of a strip.
POSTER, TILE = 640, 160
#: How much of the picture JPEG keeps, on Pillow's scale.
_QUALITY = 72
#: HD is coded in other colors than SD; where a video does not say, its size does.
_HD = 720
_BT709, _SD = 1, (5, 6)


@dataclass(frozen=True)
class Jpeg:
    """A picture; width and height in pixels."""

    data: bytes
    width: int
    height: int


def moments(seconds: float) -> list[float]:
    """Return the moments of a video that its strip shows, in seconds."""
    return [(tile + 0.5) / TILES * seconds for tile in range(TILES)]


def poster_of(frame: VideoFrame) -> Jpeg:
    """Return a frame as a poster: as it is, or as large as pages need it."""
    return _jpeg(_image(frame, POSTER))


def tile_of(frame: VideoFrame) -> Image:
    """Return a frame as one picture of a strip."""
    return _image(frame, TILE)


def strip_of(tiles: Sequence[Image]) -> Jpeg:
    """Return pictures of one size side by side."""
    from PIL import Image

    width, height = tiles[0].size
    strip = Image.new("RGB", (width * len(tiles), height))
    for at, tile in enumerate(tiles):
        strip.paste(tile, (at * width, 0))
    return _jpeg(strip)


def _jpeg(image: Image) -> Jpeg:
    data = io.BytesIO()
    image.save(data, "JPEG", quality=_QUALITY)
    return Jpeg(data.getvalue(), *image.size)


class _Scaler(threading.local):
    """What scales frames: made once a thread, since videos are much alike."""

    def __init__(self) -> None:
        from av.video.reformatter import VideoReformatter

        self.made = VideoReformatter()


@cache
def _scaler() -> _Scaler:
    return _Scaler()


def _image(frame: VideoFrame, longest: int) -> Image:
    from av.video.reformatter import Colorspace

    scaled = _scaler().made.reformat(
        frame,
        *_within(frame, longest),
        "rgb24",
        src_colorspace=Colorspace.ITU709 if _is_hd(frame) else None,
        interpolation="FAST_BILINEAR",
        # Helpers for so small a picture cost more than they save.
        threads=1,
    )
    image: Image = scaled.to_image()  # type: ignore[no-untyped-call]
    return image


def _within(frame: VideoFrame, longest: int) -> tuple[int, int]:
    """Return the size of a frame within a square; even, as colors are kept for pairs of pixels."""
    share = min(1.0, longest / max(frame.width, frame.height))
    return _even(frame.width * share), _even(frame.height * share)


def _even(length: float) -> int:
    return max(2, round(length / 2) * 2)


def _is_hd(frame: VideoFrame) -> bool:
    said = int(frame.colorspace)
    return said == _BT709 or (said not in _SD and min(frame.width, frame.height) >= _HD)


# A picture that somebody brings.


#: What a logo is made to fit, and the pixels of a picture that is read for one at most.
LOGO, LARGEST_LOGO = (480, 120), 4000 * 4000


def make_logo(data: bytes) -> bytes:
    """Return a logo (PNG, JPEG or WebP) as a PNG that fits `LOGO`, without anything else in it.

    Raises BadInput for what is no such picture.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP")) as found:
            if found.width * found.height > LARGEST_LOGO:
                raise BadInput("the logo has more than 16 million pixels", remedy="make it smaller")
            image = found.convert("RGBA")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise BadInput(
            "the logo cannot be read as a picture", remedy="send a PNG, JPEG or WebP"
        ) from error
    image.thumbnail(LOGO)
    made = io.BytesIO()
    image.save(made, "PNG")
    return made.getvalue()


# Pictures of a video at ten moments, for which all of it is decoded: for videos someone looks at.
#
# A second of processor time for some seconds of HD: at a delivery key frames have to do.


def picture_moments(path: Path) -> tuple[Jpeg, Jpeg]:
    """Return a poster, of the moment with most to see, and a strip. Raises VideoError."""
    import av

    try:
        with av.open(str(path), format="mp4", options={"probesize": "32"}) as container:
            if container.streams.video:
                return _pictures(container)
    except (av.error.FFmpegError, ValueError):
        pass
    raise VideoError("no picture of the video can be decoded")


def _pictures(container: InputContainer) -> tuple[Jpeg, Jpeg]:
    video = container.streams.video[0]
    decoder = video.codec_context
    decoder.thread_count = 1
    # What no other picture builds on is not missed: half of the work in many videos.
    decoder.skip_frame = "NONREF"
    decoder.options = {"skip_loop_filter": "all"}
    wanted = moments((container.duration or 0) / 1_000_000)
    tiles: list[Image] = []
    best, most = None, -1.0
    for frame in container.decode(video):
        while len(tiles) < len(wanted) and (frame.time or 0.0) >= wanted[len(tiles)]:
            tiles.append(tile_of(frame))
            # Much to see: many levels of light, and no fade.
            if (detail := tiles[-1].convert("L").entropy()) > most:
                best, most = frame, detail
        last = frame
        if len(tiles) == len(wanted):
            break
    if best is None:
        # Shorter than its first moment: then what there is.
        best = last
    tiles = tiles or [tile_of(best)]
    tiles += tiles[-1:] * (len(wanted) - len(tiles))
    return poster_of(best), strip_of(tiles)
