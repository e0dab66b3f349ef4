"""Pictures of a video at ten moments, for which all of it is decoded: for videos somebody looks at.

A second of processor time for some seconds of HD: at a delivery key frames have to do.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from callsheet.tasks.errors import VideoError
from callsheet.tasks.store.pictures import Jpeg, moments, poster_of, strip_of, tile_of

if TYPE_CHECKING:
    from av.container import InputContainer
    from PIL.Image import Image


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
